package verbstest_test

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// open returns a fresh pair of devices. Write this function for your provider.
func open(tb testing.TB) verbstest.Fabric {
	network := mem.New(nil)
	device := func(name string) verbs.Device {
		d, err := network.Open(name, nil)
		if err != nil {
			tb.Fatal(err)
		}
		return d
	}
	return verbstest.Fabric{
		Client: device("client"), Server: device("server"),
		// "127.0.0.1:0" where the provider runs over IP.
		Addr: "here",
		// Refused Sends and Writes complete with the reason, as with hardware.
		Precise: true,
		// If nil, the cases of removal are skipped.
		Remove: func(d verbs.Device) { d.(*mem.Device).Remove() },
	}
}

// A provider's test file.
func Example() {
	_ = func(t *testing.T) { // func TestAcceptance
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric { return open(t) })
	}
	_ = func(b *testing.B) { // func BenchmarkVerbs
		verbstest.Benchmark(b, open)
	}
}

// A case that fails prints the trace of its calls.
func Example_trace() {
	_ = func(t *testing.T) { // func TestAcceptanceTraced
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
			rec := trace.NewRecorder(200)
			tr := trace.New(trace.Config{Sink: rec.Add, Head: 16})
			t.Cleanup(func() {
				if t.Failed() {
					var text strings.Builder
					rec.WriteTo(&text)
					t.Log("the last of what happened:\n" + text.String())
				}
			})
			f := open(t)
			f.Client, f.Server, f.Remove = tr.Device(f.Client), tr.Device(f.Server), nil
			return f
		})
	}
}

// The rules hold with delayed completions too, and some were delayed.
func Example_fault() {
	_ = func(t *testing.T) { // func TestAcceptanceLate
		inj := fault.New(fault.Config{Seed: 1, Rate: map[fault.Kind]float64{fault.DelayCompletion: 0.3}})
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
			f := open(t)
			f.Client, f.Server, f.Remove = inj.Device(f.Client), inj.Device(f.Server), nil
			return f
		})
		if n := inj.Count(fault.DelayCompletion); n.Fired == 0 {
			t.Errorf("of %d completions none was late: the test tested nothing", n.Seen)
		}
	}
}
