package tcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// apart starts a server and connects to it over a link between two hosts.
func apart(t *testing.T, h oncrpc.Handler, server, client *tcp.Config) (*tcp.Conn, *isolated.Link) {
	t.Helper()
	link := isolated.NewLink(t)
	var s *tcp.Server
	var err error
	link.Far.Do(func() { s, err = tcp.Listen(context.Background(), isolated.FarAddr+":0", h, server) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var c *tcp.Conn
	link.Near.Do(func() { c, err = tcp.Dial(context.Background(), s.Addr(), client) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, link
}

// Both ends give up a peer that vanishes after PeerTimeout, whether they wait or have sent data.
func TestPeerVanishes(t *testing.T) {
	for name, config := range map[string]func(t *testing.T) *tcp.Config{
		"Plain": func(*testing.T) *tcp.Config { return &tcp.Config{Logger: quiet} },
		"TLS": func(t *testing.T) *tcp.Config {
			cfg := secured(tlstest.NewAuthority(t), tcp.TLSRequired)
			cfg.TLS.Config.ServerName = "server.example"
			return cfg
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "TLS" {
				t.Skip("takes 5 s or more")
			}
			carriertest.RunVanishes(t, func(t *testing.T, h oncrpc.Handler) carriertest.Cuttable {
				cfg := config(t)
				cfg.PeerTimeout = 2 * time.Second
				c, link := apart(t, h, cfg, cfg)
				t.Cleanup(func() { // before it is closed
					if err := c.Err(); !errors.Is(err, tcp.ErrTimeout) || !strings.Contains(err.Error(), "Config.PeerTimeout") {
						t.Errorf("the client's end: %v", err)
					}
				})
				return carriertest.Cuttable{Client: c, Cut: link.Cut}
			})
		})
	}
}

// A peer that answers probes and reads nothing is given up after PeerTimeout, if there is data for
// which it has no window. Without a limit the connection continues.
func TestPeerReadsNothing(t *testing.T) {
	begin := func(limit time.Duration) (*tcp.Conn, chan error) {
		ours, theirs := tcpPair(t)
		c := tcp.NewConn(ours, &tcp.Config{PeerTimeout: limit, SendTimeout: -1, Logger: quiet})
		t.Cleanup(func() { theirs.Close(); c.Close() })
		failed := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), callOf(1, 32<<20))
			failed <- err
		}()
		return c, failed
	}
	without, _ := begin(-1)
	limited, failed := begin(time.Second)
	select {
	case err := <-failed:
		wantError(t, err, tcp.ErrTimeout, true)
		if !strings.Contains(err.Error(), "Config.PeerTimeout") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Errorf("the Call to a peer that reads nothing is in progress, %v", limited.Err())
	}
	if err := without.Err(); err != nil {
		t.Errorf("the connection without a limit ended too: %v", err)
	}
}
