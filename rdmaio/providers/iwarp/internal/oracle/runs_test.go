package oracle_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

// recording is a device whose connections as a client are recorded in a file.
type recording struct {
	*iwarp.Device
	file *pcapng.File
}

// Dial implements verbs.Device.
func (r *recording) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return r.Device.Dial(ctx, addr, qp, params) // for its error
	}
	return r.DialConn(ctx, pcapng.Record(conn, pcapng.Recording{File: r.file, Name: "client", Initiator: true}), qp, params)
}

// mostCompared is the number of bytes of the longest connection that is compared. Few have more,
// and those would take a minute.
const mostCompared = 24 << 10

// acceptance runs the acceptance suite of providers between two devices, and returns its
// connections from the start of each.
func acceptance(t *testing.T, client, server iwarp.Config) (connections [][]piece) {
	t.Helper()
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	open := func(t *testing.T, cfg iwarp.Config) *iwarp.Device {
		t.Helper()
		dev, err := iwarp.Open(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		return dev
	}
	t.Run("suite", func(t *testing.T) {
		verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
			return verbstest.Fabric{Client: &recording{open(t, client), file}, Server: open(t, server), Addr: "127.0.0.1:0", Timeout: time.Minute}
		})
	})
	recorded, err := pcapng.Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var size []int
	for _, s := range recorded {
		for len(connections) <= s.Connection {
			connections, size = append(connections, nil), append(size, 0)
		}
		connections[s.Connection] = append(connections[s.Connection], piece{s.FromInitiator, s.Payload})
		size[s.Connection] += len(s.Payload)
	}
	kept := connections[:0]
	for i, pieces := range connections {
		if size[i] <= mostCompared {
			kept = append(kept, pieces)
		}
	}
	if len(kept) < 100 {
		t.Errorf("%d connections are compared, want 100", len(kept))
	}
	return kept
}

// Every field of every FPDU of the acceptance suite is the same for both readers, and Wireshark
// finds nothing malformed and no wrong CRC.
func TestBothReadersAgreeOnTheSuite(t *testing.T) {
	if testing.Short() && xdrtest.Race {
		t.Skip("the readers start no goroutine, and package iwarp runs the suite with the race detector")
	}
	for _, tt := range []struct {
		name           string
		client, server iwarp.Config
	}{
		{"defaults", iwarp.Config{}, iwarp.Config{}},
		{"no CRCs, short FPDUs", iwarp.Config{NoCRC: true, MULPDU: 515}, iwarp.Config{NoCRC: true, MULPDU: 512}},
		{"peer to peer, one side asks for CRCs", iwarp.Config{PeerToPeer: true, NoCRC: true}, iwarp.Config{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name != "defaults" {
				t.Skip("-short")
			}
			connections := acceptance(t, tt.client, tt.server)
			names := make([]string, len(connections))
			for i := range names {
				names[i] = fmt.Sprintf("connection %d", i)
			}
			seen := compare(t, names, connections)
			requireAll(t, seen, append(opcodes, "reject 1")...)
		})
	}
}
