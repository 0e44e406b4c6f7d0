package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/v2test"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
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

// A server takes all else that it advertises, and one more as it says (R37, R167, R170, R205, R215,
// R217).
func TestAdvertisedValuesAreTaken(t *testing.T) { v2test.TakesAdvertised(t, overFake) }

// A message more than the server's credits, or a word longer than its Receives, costs the
// connection (R170, R172, R215).
func TestMoreThanAdvertisedIsRefused(t *testing.T) { v2test.RefusesMore(t, overFake) }

// A client takes as many messages as it grants, as long as it says, and refuses one more (R167,
// R170, R215, R218).
func TestAdvertisedValuesOfClientsAreTaken(t *testing.T) { v2test.TakesAdvertisedBack(t, overFake) }

// overFake runs a test over the library in Go, with each kind of transport.
func overFake(t *testing.T, name string, test func(t *testing.T, w *rdmaiotest.World)) {
	for kind, tr := range map[string]abi.Transport{"IB": abi.TransportIB, "iWARP": abi.TransportIWARP} {
		t.Run(name+" over "+kind, func(t *testing.T) {
			f := openFake(t, tr, quirks.Quirks{}, Config{})
			devices := map[string]verbs.Device{"client": f.c, "server": f.s}
			test(t, rdmaiotest.NewWith(t, rdmaiotest.Options{
				Bare: true, Addr: "127.0.0.2:0", Open: func(name string) (verbs.Device, error) { return devices[name], nil },
			}))
		})
	}
}
