package client

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
)

// Both ends of a connection over each provider on TCP give up a peer that vanishes.
func TestVanishedPeerIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for PeerTimeout, as short tests of package rdmatcp do")
	}
	for name, open := range map[string]func(t *testing.T) verbs.Device{
		"rdmatcp": func(t *testing.T) verbs.Device {
			return rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(&rdmatcp.Config{PeerTimeout: 2 * time.Second}) })
		},
		"iwarp": func(t *testing.T) verbs.Device {
			return rdmaiotest.Opened(t, func() (*iwarp.Device, error) { return iwarp.Open(&iwarp.Config{PeerTimeout: 2 * time.Second}) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			carriertest.RunVanishes(t, func(t *testing.T, h oncrpc.Handler) carriertest.Cuttable {
				link, cfg := isolated.NewLink(t), &rdmaio.Config{Logger: slog.New(slog.DiscardHandler)}
				near, far := open(t), open(t)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				var s *rdmaio.Server
				var err error
				link.Far.Do(func() { s, err = rdmaio.Listen(ctx, far, isolated.FarAddr+":20049", h, cfg) })
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				var c *rdmaio.Conn
				link.Near.Do(func() { c, err = rdmaio.Dial(ctx, near, isolated.FarAddr+":20049", cfg) })
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return carriertest.Cuttable{Client: c, Cut: link.Cut}
			})
		})
	}
}
