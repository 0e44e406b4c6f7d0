package setup

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A server takes as many segments as it advertises, whatever the length of its send queue (R205,
// R217).
func TestAdvertisedSegmentsAreTaken(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		for _, cfg := range []rdmaio.Config{{}, {SendQueue: 2}, {SendQueue: 3, MaxSegments: 40}, {SendQueue: 16, MaxSegments: 300}} {
			rpctest.TakesSegments(t, cfg, func(h rdmaio.Handler, cfg *rdmaio.Config) (*rdmaio.Server, error) {
				return rdmaio.Listen(t.Context(), w.Server, w.ListenAddr, h, cfg)
			}, func(addr string, cfg *rdmaio.Config) (*rdmaio.Conn, error) {
				return rdmaio.Dial(t.Context(), w.Client, addr, cfg)
			})
		}
	})
}
