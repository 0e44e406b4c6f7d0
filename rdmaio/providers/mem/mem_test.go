package mem_test

import (
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func openPair(t testing.TB) (n *mem.Network, client, server *mem.Device) {
	t.Helper()
	n = mem.New(nil)
	client, err := n.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err = n.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	return n, client, server
}

func TestAcceptanceSuitePasses(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		_, client, server := openPair(t)
		return verbstest.Fabric{Client: client, Server: server, Addr: "here", Precise: true, Remove: remove}
	})
}

func remove(d verbs.Device) { d.(*mem.Device).Remove() }

// Devices with fewer abilities: memory of Alloc only, no remote invalidation, one element for a
// Read, one Read at a time, no private data.
func TestAcceptanceMeagre(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		n := mem.New(&mem.Config{AllocOnly: true, NoRemoteInvalidate: true})
		meagre := &verbs.DeviceAttributes{
			MaxSendSGE: 1, MaxRecvSGE: 1, MaxReadSGE: 1, MaxInitiatorDepth: 1, MaxResponderResources: 1, MaxPrivateData: -1,
			MaxSendWR: 1024, MaxRecvWR: 1024, MaxCQE: 1024, MaxMRSize: 2 << 20, MaxMessageSize: 1 << 20,
		}
		client, err := n.Open("client", meagre)
		if err != nil {
			t.Fatal(err)
		}
		server, err := n.Open("server", meagre)
		if err != nil {
			t.Fatal(err)
		}
		return verbstest.Fabric{Client: client, Server: server, Addr: "here", Precise: true, Remove: remove}
	})
}

// A device can connect to itself.
func TestAcceptanceLoopback(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		_, dev, _ := openPair(t)
		return verbstest.Fabric{Client: dev, Server: dev, Addr: "here", Precise: true, Remove: remove}
	})
}
