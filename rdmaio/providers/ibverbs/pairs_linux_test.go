package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/pairs"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The limits and times of both ends fit together over this provider, too.
func TestDefaultsFit(t *testing.T) {
	for _, tr := range []abi.Transport{abi.TransportIB, abi.TransportIWARP} {
		c := pairs.OverRDMA([]int{1}, func(t *testing.T, client, server *Config) (verbs.Device, verbs.Device, string) {
			both := *client // the devices of the fake have one Config
			if *server != (Config{}) {
				both = *server
			}
			f := openFakeDevices(t, fakelib.DeviceOptions{Transport: tr}, both, itself)
			return f.c, f.s, "127.0.0.2:0"
		})
		c.Calls, c.Few = 100, testing.Short()
		t.Run(map[abi.Transport]string{abi.TransportIB: "IB", abi.TransportIWARP: "iWARP"}[tr], func(t *testing.T) { pairs.Run(t, c) })
	}
}
