package stream

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

const local = "127.0.0.1:0"

// toyConfig returns the configuration of a device whose frames have at most most bytes of payload.
func toyConfig(most int) Config {
	a := soft.Attributes("toy0")
	a.MaxMRSize, a.MaxRemoteAddr = 1<<32, 1<<63-1
	a.MaxInitiatorDepth, a.MaxResponderResources = 16, 16
	a.MaxPrivateData = 256
	a.Addresses = verbs.AddressIP
	a.HeapMemory, a.RemoteInvalidate = true, true
	return Config{
		Provider: "toy", Attrs: a, Framing: &toy{attrs: a, most: most}, Addresses: true,
		Shape:          Shape{Prefix: 4, Header: toyHeader, MaxHead: toyRequest, StageSend: 1024, StageReceive: 4096},
		ReceiveTimeout: 20 * time.Millisecond,
	}
}

func openToy(t testing.TB, cfg Config) *Device {
	t.Helper()
	d, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A framing unlike rdmatcp's passes the acceptance suite: with frames as short as in a network,
// longer than a read-ahead, and without a checksum.
func TestAcceptanceSuitePasses(t *testing.T) {
	for _, tt := range []struct {
		most  int
		plain bool
	}{{1424, false}, {60000, false}, {100, true}} {
		t.Run(fmt.Sprintf("%d bytes, no sum %t", tt.most, tt.plain), func(t *testing.T) {
			verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
				cfg := toyConfig(tt.most)
				cfg.Framing.(*toy).plain = tt.plain
				return verbstest.Fabric{
					Client: openToy(t, cfg), Server: openToy(t, cfg), Addr: local,
					Remove: func(d verbs.Device) { d.(*Device).Remove() },
				}
			})
		})
	}
}

func BenchmarkVerbs(b *testing.B) {
	verbstest.Benchmark(b, func(tb testing.TB) verbstest.Fabric {
		return verbstest.Fabric{Client: openToy(tb, toyConfig(1424)), Server: openToy(tb, toyConfig(1424)), Addr: local}
	})
}
