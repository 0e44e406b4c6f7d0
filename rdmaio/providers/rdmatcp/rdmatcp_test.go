package rdmatcp_test

import (
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

const local = "127.0.0.1:0"

func open(t testing.TB, cfg *rdmatcp.Config) *rdmatcp.Device {
	t.Helper()
	d, err := rdmatcp.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// remove removes a device of this package.
func remove(d verbs.Device) { d.(*rdmatcp.Device).Remove() }

func TestAcceptanceSuitePasses(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		cfg := &rdmatcp.Config{ReceiveTimeout: 20 * time.Millisecond}
		return verbstest.Fabric{Client: open(t, cfg), Server: open(t, cfg), Addr: local, Remove: remove}
	})
}

// A device can connect to itself.
func TestAcceptanceLoopback(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		d := open(t, nil)
		return verbstest.Fabric{Client: d, Server: d, Addr: local, Remove: remove}
	})
}

func TestAcceptanceTraced(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		tr := trace.New(trace.Config{Sink: trace.NewRecorder(1 << 20).Add})
		return verbstest.Fabric{Client: tr.Device(open(t, nil)), Server: tr.Device(open(t, nil)), Addr: local}
	})
}

func BenchmarkVerbs(b *testing.B) {
	verbstest.Benchmark(b, func(tb testing.TB) verbstest.Fabric {
		return verbstest.Fabric{Client: open(tb, nil), Server: open(tb, nil), Addr: local, Remove: remove}
	})
}
