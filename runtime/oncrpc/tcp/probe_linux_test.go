package tcp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
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

// A probe closes a connection whose peer has vanished within its limit, long before PeerTimeout
// would, and leaves one whose peer is there (R288).
func TestProbeFindsALostPeer(t *testing.T) {
	for _, limit := range []time.Duration{time.Hour, -1} {
		if testing.Short() && limit < 0 {
			break // each takes some seconds
		}
		cfg := &tcp.Config{PeerTimeout: limit, Logger: quiet}
		served := make(chan oncrpc.Conn, 2)
		h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			served <- r.Conn()
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		})
		c, link := apart(t, h, cfg, cfg)
		if _, err := c.Call(t.Context(), callOf(1, 0)); err != nil {
			t.Fatal(err)
		}
		conn := <-served
		conn.(oncrpc.Prober).Probe(2 * time.Second)
		select {
		case <-conn.Done():
			t.Errorf("limit %v: the probe closed a connection whose peer is there: %v", limit, conn.Err())
		case <-time.After(3 * time.Second):
		}
		link.Cut()
		conn.(oncrpc.Prober).Probe(2 * time.Second)
		select {
		case <-conn.Done():
			if !errors.Is(conn.Err(), tcp.ErrTimeout) {
				t.Error(conn.Err())
			}
		case <-time.After(leak.Patience()):
			t.Errorf("limit %v: the probe has not found that the peer is gone", limit)
		}
	}
}
