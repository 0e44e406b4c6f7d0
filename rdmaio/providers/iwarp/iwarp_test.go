package iwarp_test

import (
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

const local = "127.0.0.1:0"

func open(t testing.TB, cfg *iwarp.Config) *iwarp.Device {
	t.Helper()
	d, err := iwarp.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// remove removes a device of this package.
func remove(d verbs.Device) { d.(*iwarp.Device).Remove() }

// acceptance runs the acceptance suite between two devices, each with its configuration.
func acceptance(t *testing.T, client, server iwarp.Config) {
	t.Parallel()
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		// Megabytes in the shortest FPDUs take seconds with the race detector on a busy machine.
		return verbstest.Fabric{Client: open(t, &client), Server: open(t, &server), Addr: local, Remove: remove}
	})
}

func TestAcceptanceSuitePasses(t *testing.T) {
	quick := iwarp.Config{ReceiveTimeout: 20 * time.Millisecond}
	acceptance(t, quick, quick)
}

func TestAcceptanceTLS(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	secure := iwarp.Config{TLS: config, ReceiveTimeout: 20 * time.Millisecond}
	acceptance(t, secure, secure)
}

// A FPDU for each TCP segment of an Ethernet, with and without CRCs.
// variant skips a variant of the suite in a short run, for which the others are enough.
func variant(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a short run has other variants of the suite")
	}
}

func TestAcceptanceShortFPDUs(t *testing.T) {
	variant(t)
	acceptance(t, iwarp.Config{MULPDU: 1442}, iwarp.Config{MULPDU: 1442})
}

func TestAcceptanceShortestFPDUs(t *testing.T) {
	acceptance(t, iwarp.Config{MULPDU: 128}, iwarp.Config{MULPDU: 131})
}

func TestAcceptanceNoCRC(t *testing.T) {
	acceptance(t, iwarp.Config{NoCRC: true, MULPDU: 1442}, iwarp.Config{NoCRC: true})
}

// The peer-to-peer model, with each ready-to-receive indication.
func TestAcceptancePeerToPeer(t *testing.T) {
	for name, kind := range map[string]iwarp.RTR{"send": iwarp.RTRSend, "write": iwarp.RTRWrite, "read": iwarp.RTRRead} {
		t.Run(name, func(t *testing.T) {
			acceptance(t, iwarp.Config{PeerToPeer: true, RTR: kind}, iwarp.Config{})
		})
	}
}

// A device can connect to itself.
func TestAcceptanceLoopback(t *testing.T) {
	variant(t)
	t.Parallel()
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		d := open(t, nil)
		return verbstest.Fabric{Client: d, Server: d, Addr: local, Remove: remove}
	})
}

func TestAcceptanceTraced(t *testing.T) {
	variant(t)
	t.Parallel()
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		tr := trace.New(trace.Config{Sink: trace.NewRecorder(1 << 20).Add})
		return verbstest.Fabric{Client: tr.Device(open(t, nil)), Server: tr.Device(open(t, nil)), Addr: local}
	})
}

// The wrapper that injects faults changes nothing if its configuration has no fault.
func TestAcceptanceWrapped(t *testing.T) {
	variant(t)
	t.Parallel()
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		in := fault.New(fault.Config{})
		return verbstest.Fabric{Client: in.Device(open(t, nil)), Server: in.Device(open(t, nil)), Addr: local}
	})
}

func BenchmarkVerbs(b *testing.B) {
	verbstest.Benchmark(b, func(tb testing.TB) verbstest.Fabric {
		return verbstest.Fabric{Client: open(tb, nil), Server: open(tb, nil), Addr: local, Remove: remove}
	})
}
