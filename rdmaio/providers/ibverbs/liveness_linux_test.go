package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/internal/liveness"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Peers that vanish or misbehave do this provider the same harm as others: little.
func TestPeersOverDevices(t *testing.T) {
	for name, o := range map[string]fakelib.DeviceOptions{
		"InfiniBand": {Transport: abi.TransportIB},
		"iWARP":      {Transport: abi.TransportIWARP},
		"siw":        {Transport: abi.TransportIWARP, Quirks: quirks.For("siw", abi.TransportIWARP)},
	} {
		t.Run(name, func(t *testing.T) {
			over := func(t testing.TB, l carriers.Limits) (carriers.Carrier, *fakeNet) {
				f := openFakeDevices(t, o, Config{PeerTimeout: l.Peer}, itself)
				return carriers.OverRDMA(l, []int{1}, func(testing.TB, carriers.Limits) (verbs.Device, verbs.Device, string) {
					return f.c, f.s, "127.0.0.2:0"
				}), f
			}
			without := map[string]string{
				"half open":              "the kernel has the handshake; TestFloodOfRequestsIsRefused has requests that wait",
				"reads slowly":           "the device writes to memory without its program",
				"stops within a message": "a message is delivered whole",
			}
			if name == "siw" {
				without["silent"] = "as over other iWARP, and here the end of each of many connections waits for its peer"
			}
			liveness.Run(t, liveness.Column{
				Carrier: func(l carriers.Limits) carriers.Carrier {
					return carriers.OverRDMA(l, []int{1}, func(t testing.TB, l carriers.Limits) (verbs.Device, verbs.Device, string) {
						f := openFakeDevices(t, o, Config{PeerTimeout: l.Peer}, itself)
						return f.c, f.s, "127.0.0.2:0"
					})
				},
				Apart: func(t *testing.T, l carriers.Limits) (carriers.Carrier, carriers.Place, func()) {
					c, f := over(t, l)
					return c, carriers.Place{}, func() {
						f.client.Device("fake0").Silence(true)
						f.server.Device("fake1").Silence(true)
					}
				},
				Cost:    liveness.Cost{Bytes: 256 << 10, Goroutines: 0.1}, // its Receives
				Without: without,
			})
		})
	}
}
