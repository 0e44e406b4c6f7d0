package pairs

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// OverRDMA returns the Carrier over two devices. C is the Config of their provider, whose fields
// have rows for each end. open opens the devices with its Configs, and returns them with the
// address to listen at. They are closed at the end of the test.
func OverRDMA[C any](versions []int, open func(t *testing.T, client, server *C) (near, far verbs.Device, addr string)) Carrier {
	quiet := slog.New(slog.DiscardHandler)
	return Carrier{
		New: func() Ends {
			return Ends{
				Client: []any{new(rdmaio.ClientConfig), &rdmaio.Config{Versions: versions, Logger: quiet}, new(C)},
				// A server makes reverse Calls only with ReverseCredits.
				Server: []any{&rdmaio.Config{Versions: versions, ReverseCredits: 8, Logger: quiet}, new(replycache.Config), new(C)},
			}
		},
		Open: func(t *testing.T, e Ends, h, reverse oncrpc.Handler) (oncrpc.Carrier, func() Counts) {
			near, far, addr := open(t, e.Client[2].(*C), e.Server[2].(*C))
			cfg, conn := e.Client[0].(*rdmaio.ClientConfig), e.Client[1].(*rdmaio.Config)
			conn.ReverseHandler, cfg.Conn = reverse, conn
			s, err := rdmaio.Listen(context.Background(), far, addr, replycache.New(h, e.Server[1].(*replycache.Config)), e.Server[0].(*rdmaio.Config))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			c, err := rdmaio.NewClient(near, s.Addr(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c, func() Counts {
				st := c.Stats()
				return Counts{Lost: st.Lost, Again: st.Retransmissions}
			}
		},
	}
}
