package wireshark_test

import (
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// Connections of the acceptance suite, which the provider made, are for the dissector as they are
// for package segment: all messages in all sizes, and connections that end by errors.
func TestAcceptance(t *testing.T) {
	if testing.Short() {
		t.Skip("compares more than 100 connections")
	}
	name := recordAll(t, func(wrap func(streams) verbs.Device) {
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
			server, err := rdmatcp.Open(nil)
			if err != nil {
				t.Fatal(err)
			}
			client, err := rdmatcp.Open(nil)
			if err != nil {
				t.Fatal(err)
			}
			return verbstest.Fabric{Client: wrap(client), Server: server, Addr: "127.0.0.1:0", Timeout: time.Minute}
		})
	})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := pcapng.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]piece, 1000)
	size := make([]int, len(all))
	for _, s := range recorded {
		all[s.Connection] = append(all[s.Connection], piece{!s.FromInitiator, s.Payload})
		size[s.Connection] += len(s.Payload)
	}
	var connections [][]piece
	for i, pieces := range all {
		if size[i] > 0 && size[i] <= mostCompared {
			connections = append(connections, pieces)
		}
	}
	if len(connections) < 100 {
		t.Errorf("%d connections are compared, want 100", len(connections))
	}
	compareAll(t, tshark.Input{File: write(t, 0, connections...), Scripts: rdmatcpScript}, connections)
}

// mostCompared is the number of bytes of the longest connection of the acceptance suite that
// Wireshark reads. Few have more, and those would take a minute.
const mostCompared = 24 << 10
