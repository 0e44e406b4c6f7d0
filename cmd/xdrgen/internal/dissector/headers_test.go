package dissector_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// headers are the header types of a unit and its imports, and how dump decodes their messages.
type headers struct {
	*compiled
	message *dynamic.Message
	codes   map[string][]*ir.CodePoint
}

// compileHeaders compiles the dissector of version 2 with an extension, which has the others.
func compileHeaders(t testing.TB, m *maker) *headers {
	t.Helper()
	c := compile(t, "rpcrdma2", "testdata/hint/hint.x")
	h := &headers{compiled: c, codes: map[string][]*ir.CodePoint{}}
	m.numbers = map[*ir.Decl]ir.Number{}
	for _, b := range c.binds {
		for i := range b.Codes {
			h.codes[b.Codes[i].Space] = append(h.codes[b.Codes[i].Space], &b.Codes[i])
		}
		for i := range b.Messages {
			h.message = &dynamic.Message{Prefix: &b.Messages[i], Codes: dynamic.NewCodes(c.binds...)}
		}
		for _, n := range b.Numbers {
			m.numbers[n.Decl] = n
		}
	}
	m.codes = h.codes
	return h
}

// random returns a message of a header type, with flags that it has.
func (h *headers) random(m *maker, p *ir.CodePoint, xid uint32) []byte {
	m.left = 12
	const more = 2 // another test has messages in parts
	b := m.code(words(xid, 2, m.Uint32(), p.Value, m.Uint32()&p.Mask&^more), p)
	if p.Payload {
		b = append(b, words(xid, 0, 2, 0x20000998, 1, 0, 0, 0, 0, 0)...)
	}
	return b
}

// expect returns what Wireshark is to show of a message, and the codes of its faults.
func (h *headers) expect(b []byte) (shown, []string) {
	s := shown{}
	root, err := h.message.DecodeAll(b, dynamic.Limits{})
	faults := h.message.Codes.Annotate(root, b, dynamic.Limits{})
	if e := new(dynamic.Error); errors.As(err, &e) {
		faults = append(faults, e)
	}
	number := root.Items[0].Items[0].Items[3] // rdma_htype
	for _, v := range root.Items {
		switch v.Name {
		case "prefix":
			s.value("rpcrdma2", "rpcrdma2.prefix", v)
		case "body":
			s.value("rpcrdma2", "rpcrdma2.header-type."+number.Number.Names[0], v)
		case "data":
			s.value("rpcrdma2", "rpcrdma2.error.HINT_ERR", v)
		case "undecoded":
			s.bytes("rpcrdma2.undecoded", v, false)
		}
	}
	var codes []string
	for _, f := range faults {
		codes = append(codes, string(f.Code))
	}
	return s, codes
}

// send is a message in one Send.
type send struct{ data []byte }

// iwarp returns the message in an FPDU (RFC 5044 §4, RFC 5041 §4.3), with an opcode of RDMAP.
func (s send) iwarp(op byte, number uint32) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(18+len(s.data)))
	b = append(append(append(b, 0x41, 0x40|op), words(0, 0, number, 0)...), s.data...)
	b = append(b, make([]byte, -len(b)&3)...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// rdmatcp returns the message in a segment.
func (s send) rdmatcp(t *testing.T, number uint32) []byte {
	t.Helper()
	h := segment.Header{Type: segment.Send, Begin: true, End: true, ConnID: 77, Number: number}
	b, err := segment.Append(nil, &h, nil, s.data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// carry writes the messages as a connection of iWARP, and with xid added to their XIDs as one of
// RDMATCP.
func carry(t *testing.T, all [][]byte, xid uint32) string {
	t.Helper()
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	at := time.Unix(1000, 0)
	conn := file.Connection("iwarp")
	conn.Segment(true, at, []byte("MPA ID Req Frame\x40\x01\x00\x00"))
	conn.Segment(false, at, []byte("MPA ID Rep Frame\x40\x01\x00\x00"))
	for i, b := range all {
		conn.Segment(true, at, send{b}.iwarp(3, uint32(i+1)))
	}
	conn = file.Connection("rdmatcp")
	for i, client := range []bool{true, false} {
		hello, err := segment.Append(nil, &segment.Header{Type: segment.Write, Begin: true, End: true, ConnID: 77},
			append([]byte("rpd1\x01\x00\x00\x00"), words(4096, 0)...), nil)
		if err != nil {
			t.Fatal(i, err)
		}
		conn.Segment(client, at, hello)
	}
	for i, b := range all {
		b = slices.Clone(b)
		binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)+xid)
		conn.Segment(true, at, send{b}.rdmatcp(t, uint32(i+1)))
	}
	return write(t, out.Bytes())
}

// ours reports whether a field has no declaration in XDR.
func ours(name string) bool {
	_, rest, _ := strings.Cut(name, ".")
	for _, begin := range []string{"credit.", "grant", "part", "payload", "form1", "fault.", "flag", "inside", "cut"} {
		if strings.HasPrefix(rest, begin) {
			return true
		}
	}
	return false
}

// compareHeaders compares a header that Wireshark shows with dump. It returns the number of values.
func (h *headers) compareHeaders(t *testing.T, b []byte, p tshark.Part) int {
	t.Helper()
	want, _ := h.expect(b)
	got := maps.Clone(p.Fields)
	maps.DeleteFunc(got, func(name string, _ []string) bool { return ours(name) })
	return compare(t, fmt.Sprintf("packet %d, %x", p.Packet, b), got, want, "rpcrdma2")
}

// faultsIn returns the faults that Wireshark shows.
func faultsIn(p tshark.Part) (all []string) {
	for name := range p.Fields {
		if code, fault := strings.CutPrefix(name, "rpcrdma2.fault."); fault {
			all = append(all, code)
		}
	}
	return all
}

// TestShowsHeadersOfVersion2 checks that Wireshark shows the fields of dump for the header types,
// properties, operations and errors of version 2 and its extensions, in iWARP and RDMATCP; and for
// 1,000 messages that were changed at random the same faults, without an error of the script.
func TestShowsHeadersOfVersion2(t *testing.T) {
	witness.Program(t, "tshark")
	m := &maker{Rand: rand.New(rand.NewPCG(8, 9))}
	h := compileHeaders(t, m)
	types := h.codes[ir.SpaceHeaderType]
	const whole, changed, second = 140, 500, 0x10000
	var all [][]byte
	for i := range whole {
		all = append(all, h.random(m, types[i%len(types)], uint32(0x100+i)))
	}
	for i := range 10 { // data of an error, and header types of others
		xid := uint32(0x200 + i)
		all = append(all, m.code(words(xid, 2, 7, 4, 1, 50), h.message.Codes.Point(ir.SpaceError, 50)), words(xid+0x40, 2, 7, 4711, 0, m.Uint32()))
	}
	good := len(all)
	for i := range changed {
		b := m.mutate(all[i%good], 16)
		if m.IntN(8) == 0 {
			binary.BigEndian.PutUint32(b[12:], types[m.IntN(len(types))].Value)
		}
		binary.BigEndian.PutUint32(b, uint32(0x1000+i))
		all = append(all, b)
	}
	in := tshark.Input{File: carry(t, all, second), Scripts: []string{h.script, root + "tools/wireshark/rdmatcp.lua"}}
	found := map[string]tshark.Part{}
	for _, p := range tshark.Parts(t, in, "rpcrdma2") {
		if p.Proto == "rpcrdma2" {
			found[p.One("rpcrdma2.rpcrdma_common.rdma_xid")] = p
		}
	}
	values, faults := 0, map[string]int{}
	for i, b := range all {
		xid := binary.BigEndian.Uint32(b)
		for _, more := range []uint32{0, second} {
			b = slices.Clone(b)
			binary.BigEndian.PutUint32(b, xid+more)
			p, shown := found[fmt.Sprintf("0x%08x", xid+more)]
			form1 := len(b) == 28 && binary.BigEndian.Uint32(b[12:]) == 4 && binary.BigEndian.Uint32(b[16:]) == 1
			switch {
			case !shown && len(b) >= 20:
				t.Errorf("%x: not shown", b)
			case !shown || form1:
			case i < good:
				values += h.compareHeaders(t, b, p)
				fallthrough
			default:
				_, want := h.expect(b)
				got := faultsIn(p)
				for _, code := range got {
					faults[code]++
				}
				missing := len(want) > 0 && !slices.Contains(got, want[len(want)-1])
				if missing || slices.ContainsFunc(got, func(code string) bool { return !slices.Contains(want, code) }) {
					t.Errorf("%x: the faults %q in Wireshark, %q in dump", b, got, want)
				}
			}
		}
	}
	t.Logf("%d messages, %d values, faults %v", len(found), values, faults)
	if values < 3000 {
		t.Errorf("%d values are few", values)
	}
	for _, code := range []string{"short", "trailing", "bool", "padding", "bound", "enum"} {
		if faults[code] < 2 {
			t.Errorf("the fault %s was found %d times", code, faults[code])
		}
	}
}
