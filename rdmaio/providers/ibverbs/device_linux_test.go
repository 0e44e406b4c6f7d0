package ibverbs_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// The variables of TestAcceptanceOnDevice.
const (
	envDevice = "RPCRDMA_IBVERBS_DEVICE" // a device, such as rxe0
	envAddr   = "RPCRDMA_IBVERBS_ADDR"   // its address with port 0, such as 192.168.77.1:0
	envRemove = "RPCRDMA_IBVERBS_REMOVE" // a command that removes the device
	envList   = "RPCRDMA_IBVERBS_LIST"   // not empty: list the cases, and run none
)

// peerTimeout is shorter than the suite waits for an end: rxe does not always report a Read that
// the peer refuses.
const peerTimeout = 5 * time.Second

// A real device passes the acceptance suite, connected to itself, and each case leaves no memory
// pinned.
//
//	export RPCRDMA_IBVERBS_DEVICE=rxe0 RPCRDMA_IBVERBS_ADDR=192.168.77.1:0
//	go test -run AcceptanceOnDevice -v ./rdmaio/providers/ibverbs
func TestAcceptanceOnDevice(t *testing.T) {
	name, addr := os.Getenv(envDevice), os.Getenv(envAddr)
	if name == "" || addr == "" {
		t.Skipf("%s and %s name no device", envDevice, envAddr)
	}
	// 4 is the type of an iWARP device. The sender there does not learn what the peer refused.
	kind, err := os.ReadFile("/sys/class/infiniband/" + name + "/node_type")
	if err != nil {
		t.Fatal(err)
	}
	iwarp := strings.HasPrefix(string(kind), "4:")
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		if os.Getenv(envList) != "" {
			t.Skip("only listed")
		}
		before := pinned(t)
		dev, err := ibverbs.Open(&ibverbs.Config{Device: name, PeerTimeout: peerTimeout})
		if err != nil {
			t.Fatal(err)
		}
		// It runs after the suite has closed the device.
		t.Cleanup(func() {
			if after := pinned(t); after != before {
				t.Errorf("%d kB of pinned memory before the case, %d kB after it", before, after)
			}
		})
		f := verbstest.Fabric{
			Client: dev, Server: dev, Addr: addr,
			UnknownCause: true, // the connection manager also rejects a request that is given up
			Precise:      !iwarp, LateReads: iwarp, AnyLengthStatus: true, EndsAtDeregister: true,
		}
		if remove := os.Getenv(envRemove); remove != "" {
			f.Remove = func(verbs.Device) {
				if out, err := exec.Command("sh", "-c", remove).CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", remove, err, out)
				}
			}
		}
		return f
	})
}

// pinned returns the kilobytes of this process that the kernel has pinned for devices (VmPin of
// proc(5)).
func pinned(t *testing.T) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "VmPin:")
	if _, err := fmt.Sscanf(text, "%d kB", &kilobytes); err != nil {
		t.Fatalf("VmPin in /proc/self/status: %v", err)
	}
	return kilobytes
}
