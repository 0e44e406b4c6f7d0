package wireshark_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// openIWARP opens a device that the test closes.
func openIWARP(t *testing.T, cfg *iwarp.Config) *iwarp.Device {
	t.Helper()
	dev, err := iwarp.Open(cfg)
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

// pieces returns the TCP segments of each connection of a capture.
func pieces(t *testing.T, name string) (all [][]piece) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := pcapng.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range recorded {
		for len(all) <= s.Connection {
			all = append(all, nil)
		}
		all[s.Connection] = append(all[s.Connection], piece{!s.FromInitiator, s.Payload})
	}
	return all
}

// unjoined makes Wireshark's dissector of RPC-over-RDMA join the segments of Sends, and not that of
// iWARP. In 4.0 an assertion fails if both do.
var unjoined = []string{"-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE"}

// unsolicited returns a connection of iWARP with an FPDU in each TCP segment, and with plain Sends
// in place of those with Solicited Event. Wireshark 4.0 has RPC-over-RDMA in plain Sends only, and
// joins only the first Send of a packet.
func unsolicited(t *testing.T, pieces []piece) (all []piece, fpdus int) {
	t.Helper()
	var rest [2][]byte
	for _, p := range pieces {
		if bytes.HasPrefix(p.data, []byte("MPA ID Re")) {
			all = append(all, p)
			continue
		}
		i := 0
		if p.fromServer {
			i = 1
		}
		rest[i] = append(rest[i], p.data...)
		for len(rest[i]) >= 2 {
			n := 2 + int(binary.BigEndian.Uint16(rest[i]))
			n += -n & 3
			if len(rest[i]) < n+4 {
				break
			}
			b := slices.Clone(rest[i][:n+4])
			rest[i] = rest[i][n+4:]
			const tagged, solicited = 0x80, 2 // of the DDP control byte; between the opcodes
			if op := b[3] & 15; b[2]&tagged == 0 && (op == 5 || op == 6) {
				b[3] -= solicited
				if binary.LittleEndian.Uint32(b[n:]) != 0 {
					binary.LittleEndian.PutUint32(b[n:], crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))
				}
			}
			all = append(all, piece{p.fromServer, b})
			fpdus++
		}
	}
	if len(rest[0])+len(rest[1]) > 0 {
		t.Error("the connection ends within an FPDU")
	}
	return all, fpdus
}

// The chunk lists of calls of all shapes over iWARP are for Wireshark those that were sent, with
// CRCs and without, in each revision of MPA, in FPDUs of any size; it finds all CRCs right and
// nothing malformed.
func TestRPCInIWARP(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		segment int
	}{
		{"defaults", iwarp.Config{}, 0},
		{"without CRCs, long FPDUs", iwarp.Config{NoCRC: true, MULPDU: 64768}, 0},
		{"revision 1, many segments", iwarp.Config{Revision: 1}, 700},
		{"peer to peer, short FPDUs", iwarp.Config{PeerToPeer: true, MULPDU: 300}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.cfg != (iwarp.Config{}) {
				t.Skip("starts Wireshark five times")
			}
			var all sends
			name := conversation(t, openIWARP(t, &tt.cfg), rdmaio.Config{SegmentSize: tt.segment}, &all)
			whole := pieces(t, name)[0]
			plain, fpdus := unsolicited(t, whole)
			// As it was sent.
			in := tshark.Input{File: name}
			if text := tshark.Complaints(t, in, ""); text != "" {
				t.Errorf("Wireshark complains:\n%s", text)
			}
			found := tshark.Parts(t, in, "iwarp_mpa", "iwarp_ddp_rdmap")
			goodCRCs(t, found, fpdus, !tt.cfg.NoCRC)
			operations(t, found)
			// So that Wireshark looks into each Send.
			in = tshark.Input{File: write(t, 0, plain), Args: unjoined}
			kinds := compareHeaders(t, in, &all)
			if tt.segment == 0 {
				hasAll(t, kinds, allKinds)
			}
			if text := tshark.Complaints(t, in, ""); text != "" {
				t.Errorf("with plain Sends, Wireshark complains:\n%s", text)
			}
		})
	}
}

// goodCRCs checks that Wireshark finds so many FPDUs, and all their CRCs right if there are any.
func goodCRCs(t *testing.T, parts []tshark.Part, fpdus int, crc bool) {
	t.Helper()
	found, good := 0, 0
	for _, p := range tshark.Only(parts, "iwarp_mpa") {
		if p.Fields["iwarp_mpa.fpdu"] != nil {
			found++
		}
		if strings.Contains(p.Text, "Good CRC32") {
			good++
		}
	}
	want := fpdus
	if !crc {
		want = 0
	}
	if found != fpdus || good != want {
		t.Errorf("%d FPDUs, %d CRCs are right; want %d and %d", found, good, fpdus, want)
	}
}

// operations checks that a conversation has RDMAP's operations: Write, Read Request, Read Response,
// Send with Solicited Event, and the same with Invalidate.
func operations(t *testing.T, parts []tshark.Part) {
	t.Helper()
	seen := map[string]int{}
	for _, p := range tshark.Only(parts, "iwarp_ddp_rdmap") {
		seen[p.One("iwarp_rdma.opcode")]++
	}
	hasAll(t, seen, []string{"0x00", "0x01", "0x02", "0x05", "0x06"})
}

// A server without version 2 answers ERR_VERS, and the conversation goes on with version 1.
func TestRPCFallBackInIWARP(t *testing.T) {
	dev := openIWARP(t, nil)
	var all sends
	name := record(t, dev, func(client verbs.Device) {
		ctx := context.Background()
		server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rdmaio.HandlerFunc(serve), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := rdmaio.Dial(ctx, all.wrap(client), server.Addr(), &rdmaio.Config{Versions: []int{2, 1}})
		if err != nil {
			t.Fatal(err)
		}
		shapes[0].call(t, c, 0x100)
		if err := errors.Join(c.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	plain, _ := unsolicited(t, pieces(t, name)[0])
	in := tshark.Input{File: write(t, 0, plain), Args: unjoined, Scripts: []string{"rpcrdma2.lua"}}
	seen := map[string]int{}
	for _, p := range tshark.Parts(t, in) {
		if p.Fields["rpcrdma2.form1"] != nil {
			seen["ERR_VERS"]++
		}
		if p.Proto == "rpcordma" {
			seen["version 1"]++
		}
	}
	hasAll(t, seen, []string{"ERR_VERS", "version 1"})
	if text := tshark.Complaints(t, in, ""); text != "" {
		t.Errorf("Wireshark complains:\n%s", text)
	}
}

// Version 2 over iWARP goes to its dissector: each Send is a message, and none is malformed.
func TestRPC2InIWARP(t *testing.T) {
	var all sends
	name := conversation(t, openIWARP(t, nil), rdmaio.Config{Versions: []int{2}}, &all)
	plain, fpdus := unsolicited(t, pieces(t, name)[0])
	in := tshark.Input{File: write(t, 0, plain), Scripts: []string{"rpcrdma2.lua"}}
	found := tshark.Parts(t, in)
	goodCRCs(t, found, fpdus, true)
	if n, want := len(tshark.Only(found, "rpcrdma2")), len(all.posted)+len(all.received); n != want {
		t.Errorf("%d messages, want %d", n, want)
	}
	if text := tshark.Complaints(t, in, ""); text != "" {
		t.Errorf("Wireshark complains:\n%s", text)
	}
}

// Messages that no Call leads to have the same fields for Wireshark and the generated code.
func TestHeadersInIWARP(t *testing.T) {
	const (
		head     = "0000002a 00000001 00000020 "
		segments = "000000aa 00000100 00000000 00001000 000000ab 00000101 ffffffff fffffff0 "

		reads = "00000001 00000020 000000bb 00000200 00000000 00002000 00000001 00000020 000000bc 00000201 00000000 00002200 00000001 00000428 000000bd 00000202 00000000 00002400 00000000 "
		// The second write chunk is empty.
		writes = "00000001 00000002 " + segments + "00000001 00000000 00000000 "
		lists  = reads + writes + "00000001 00000002 " + segments
	)
	var devices [2]*iwarp.Device // the ends close them
	for i := range devices {
		dev, err := iwarp.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		devices[i] = dev
	}
	var all sends
	messages := []message{
		{data: unhex(t, head+"00000003")},                                              // RDMA_DONE
		{data: unhex(t, head+"00000004 00000001 00000001 00000002"), fromServer: true}, // ERR_VERS
		{data: unhex(t, head+"00000004 00000002"), fromServer: true},                   // ERR_CHUNK
		{data: unhex(t, head+"00000004 00000063"), fromServer: true},                   // unknown
		{data: unhex(t, head+"00000000"+lists+call)},
		{data: unhex(t, head+"00000001"+lists)},
		{data: unhex(t, head+"00000002 00000040 00000100"+lists+call)}, // RDMA_MSGP
		{data: unhex(t, head+"00000000"+none[9:]+reply), fromServer: true, invalidate: true},
	}
	name := record(t, devices[0], func(recorded verbs.Device) {
		dev := all.wrap(recorded)
		client, server := newEnd(t, dev), newEnd(t, devices[1])
		connect(dev, devices[1], client, server, "127.0.0.1:0")
		for _, m := range messages {
			from, to := client, server
			if m.fromServer {
				from, to = to, from
			}
			from.send(to, m)
		}
	})
	in := tshark.Input{File: name}
	kinds := compareHeaders(t, in, &all)
	hasAll(t, kinds, []string{"RDMA_DONE", "RDMA_ERROR ERR_VERS", "RDMA_ERROR ERR_CHUNK", "RDMA_MSGP, 2 reads, 2 writes, reply chunk true"})
	if text := tshark.Complaints(t, in, ""); text != "" {
		t.Errorf("Wireshark complains:\n%s", text)
	}
}
