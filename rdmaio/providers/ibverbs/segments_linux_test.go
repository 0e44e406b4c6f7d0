package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// A server takes as many segments as it advertises, whatever the length of its send queue (R205,
// R217).
func TestAdvertisedSegmentsAreTaken(t *testing.T) {
	for _, tr := range []abi.Transport{abi.TransportIB, abi.TransportIWARP} {
		f := openFake(t, tr, quirks.Quirks{}, Config{})
		for _, cfg := range []rdmaio.Config{{}, {SendQueue: 2}, {SendQueue: 16, MaxSegments: 40}} {
			rpctest.TakesSegments(t, cfg, func(h rdmaio.Handler, cfg *rdmaio.Config) (*rdmaio.Server, error) {
				return rdmaio.Listen(t.Context(), f.s, "127.0.0.2:0", h, cfg)
			}, func(addr string, cfg *rdmaio.Config) (*rdmaio.Conn, error) {
				return rdmaio.Dial(t.Context(), f.c, addr, cfg)
			})
		}
	}
}
