package wireshark_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// conversation makes Calls of all shapes on a connection, whose Sends are recorded, and returns the
// name of the capture. cfg is for both sides, except that SegmentSize is for the client.
func conversation(t *testing.T, dev streams, cfg rdmaio.Config, all *sends) string {
	t.Helper()
	ctx := context.Background()
	cfg.RemoteInvalidate = 1
	cfg.InlineSend, cfg.InlineRecv = 4096, 4096 // the sizes of shapes lie around this
	return record(t, dev, func(client verbs.Device) {
		server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rdmaio.HandlerFunc(serve), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := rdmaio.Dial(ctx, all.wrap(client), server.Addr(), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range shapes {
			if cfg.Versions != nil && s.fails != 0 {
				continue // version 2 tries again with a longer chunk
			}
			s.call(t, c, uint32(0x100+i))
		}
		if err := errors.Join(c.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
}

// allKinds are the kinds of messages of version 1 in a conversation of all shapes.
var allKinds = []string{
	"RDMA_MSG, 0 reads, 0 writes, reply chunk false", "RDMA_MSG, 1 reads, 0 writes, reply chunk false", "RDMA_MSG, 2 reads, 0 writes, reply chunk false",
	"RDMA_MSG, 0 reads, 1 writes, reply chunk false", "RDMA_MSG, 0 reads, 2 writes, reply chunk false", "RDMA_MSG, 0 reads, 1 writes, reply chunk true",
	"RDMA_MSG, 1 reads, 2 writes, reply chunk true", "RDMA_NOMSG, 1 reads, 0 writes, reply chunk false", "RDMA_NOMSG, 2 reads, 0 writes, reply chunk false",
	"RDMA_NOMSG, 1 reads, 1 writes, reply chunk true", "RDMA_NOMSG, 0 reads, 1 writes, reply chunk true", "RDMA_NOMSG, 0 reads, 2 writes, reply chunk true",
	"RDMA_ERROR ERR_CHUNK",
}

// hasAll reports the kinds of messages that a run did not have.
func hasAll(t *testing.T, kinds map[string]int, want []string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(want), func(kind string) bool { return kinds[kind] > 0 })
	if len(missing) > 0 {
		t.Errorf("no message was\n%s\nthere were %v", strings.Join(missing, "\n"), kinds)
	}
}

// openRDMATCP opens a device that the test closes.
func openRDMATCP(t *testing.T) *rdmatcp.Device {
	t.Helper()
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// RPC-over-RDMA version 1 in RDMATCP is dissected, with the chunk lists that were sent, and
// Wireshark has nothing to complain about.
func TestRPCInRDMATCP(t *testing.T) {
	dev := openRDMATCP(t)
	for _, segment := range []int{0, 700} {
		t.Run(fmt.Sprintf("segments of %d bytes", segment), func(t *testing.T) {
			var all sends
			in := tshark.Input{File: conversation(t, dev, rdmaio.Config{SegmentSize: segment}, &all), Scripts: rdmatcpScript}
			kinds := compareHeaders(t, in, &all)
			if segment == 0 {
				hasAll(t, kinds, allKinds)
			}
			if text := tshark.Complaints(t, in, ""); text != "" {
				t.Errorf("Wireshark complains:\n%s", text)
			}
		})
	}
}

// Messages of version 2 in RDMATCP go to its dissector: each Send is one, and none is malformed.
func TestRPC2InRDMATCP(t *testing.T) {
	dev := openRDMATCP(t)
	types := map[string]int{}
	for _, longest := range []int{0, -1} { // messages in several Sends, and by chunk
		var all sends
		cfg := rdmaio.Config{Versions: []int{2}, Continue: longest}
		in := tshark.Input{File: conversation(t, dev, cfg, &all), Scripts: []string{"rpcrdma2.lua", "rdmatcp.lua"}}
		found := tshark.Only(tshark.Parts(t, in), "rpcrdma2")
		if want := len(all.posted) + len(all.received); len(found) != want {
			t.Errorf("%d messages, want %d", len(found), want)
		}
		for _, p := range found {
			types[p.One("rpcrdma2.rpcrdma_common.rdma_htype")]++
			if p.Fields["rpcrdma2.part.last"] != nil {
				types["last part"]++
			}
		}
		if text := tshark.Complaints(t, in, ""); text != "" {
			t.Errorf("Wireshark complains:\n%s", text)
		}
	}
	hasAll(t, types, []string{"0", "1", "5", "last part"})
}

// Several Sends of version 1 in a packet: Wireshark dissects one, and the note says how it dissects
// all. Without RPC-over-RDMA, Sends are left alone.
func TestSendsInOnePacket(t *testing.T) {
	b := &builder{t: t, numbers: [2]uint32{0xffffffff}} // after the hello of base
	for i := range 3 {
		xid := fmt.Sprintf("0000002%d", i)
		b.send(xid + "00000001 00000020 00000000 00000000 00000000 00000000" + xid + call[8:])
	}
	var all []byte
	for _, p := range b.pieces {
		all = append(all, p.data...)
	}
	in := tshark.Input{File: write(t, 0, append(base(t)[:1:1], piece{false, all})), Scripts: rdmatcpScript}
	for _, tt := range []struct {
		args            []string
		messages, notes int
	}{
		{nil, 1, 2},
		{[]string{"-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE"}, 3, 0},
		{[]string{"-o", "rdmatcp.rpc:FALSE"}, 0, 0},
	} {
		in.Args = tt.args
		found := tshark.Parts(t, in)
		notes := 0
		for _, p := range found {
			notes += len(p.Fields["rdmatcp.not_passed_on"])
		}
		if n := len(tshark.Only(found, "rpcordma")); n != tt.messages || notes != tt.notes || len(tshark.Only(found, "rdmatcp")) != 4 {
			t.Errorf("%v: %d messages of RPC-over-RDMA and %d notes, want %d and %d", tt.args, n, notes, tt.messages, tt.notes)
		}
	}
}
