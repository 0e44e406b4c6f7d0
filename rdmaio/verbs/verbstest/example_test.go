package verbstest_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// A provider's test file: both functions get a fresh pair of devices for each case.
func Example() {
	open := func(tb testing.TB) verbstest.Fabric {
		network := mem.New(nil)
		client, err := network.Open("client", nil)
		if err != nil {
			tb.Fatal(err)
		}
		server, err := network.Open("server", nil)
		if err != nil {
			tb.Fatal(err)
		}
		return verbstest.Fabric{
			Client: client, Server: server, Addr: "here",
			Precise: true,                                              // statuses as hardware gives them
			Remove:  func(d verbs.Device) { d.(*mem.Device).Remove() }, // or nil
		}
	}
	_ = func(t *testing.T) { // func TestAcceptance
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric { return open(t) })
	}
	_ = func(b *testing.B) { // func BenchmarkVerbs
		verbstest.Benchmark(b, open)
	}
}
