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

func TestAcceptance(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		_, client, server := openPair(t)
		return verbstest.Fabric{Client: client, Server: server, Addr: "here", Precise: true, Remove: remove}
	})
}

func remove(d verbs.Device) { d.(*mem.Device).Remove() }

// One device talking to itself is no special case.
func TestAcceptanceLoopback(t *testing.T) {
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		_, dev, _ := openPair(t)
		return verbstest.Fabric{Client: dev, Server: dev, Addr: "here", Precise: true, Remove: remove}
	})
}
