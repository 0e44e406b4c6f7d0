package wireshark_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
)

var rdmatcpScript = []string{"rdmatcp.lua"}

// onPort makes the dissector take all connections of a capture, however they begin.
var onPort = []string{"-o", "rdmatcp.ports:20049"}

// segments returns what the dissector shows of the RDMA segments of a capture.
func segments(t *testing.T, name string, args ...string) []tshark.Part {
	t.Helper()
	return tshark.Only(tshark.Parts(t, tshark.Input{File: name, Scripts: rdmatcpScript, Args: args}), "rdmatcp")
}

// compare compares what the dissector shows of a connection with what package segment reads.
func compare(t *testing.T, name string, found []tshark.Part, pieces []piece) {
	t.Helper()
	want := expected(pieces)
	if len(found) != len(want) {
		t.Errorf("%s: %d segments, want %d", name, len(found), len(want))
		return
	}
	for i := range want {
		if text := differences(t, found[i], want[i]); text != "" {
			t.Errorf("%s: segment %d: %s", name, i, text)
		}
	}
}

// byConnection returns what the dissector shows of the RDMA segments of each of n connections.
func byConnection(t *testing.T, in tshark.Input, n int) [][]tshark.Part {
	t.Helper()
	found := make([][]tshark.Part, n)
	stream := 0
	for _, p := range tshark.Parts(t, in, "tcp", "rdmatcp") {
		switch p.Proto {
		case "tcp":
			stream = int(p.Number(t, "tcp.stream"))
		case "rdmatcp":
			found[stream] = append(found[stream], p)
		}
	}
	return found
}

// compareAll compares what the dissector shows of connections with what package segment reads.
func compareAll(t *testing.T, in tshark.Input, connections [][]piece) {
	t.Helper()
	for i, found := range byConnection(t, in, len(connections)) {
		compare(t, fmt.Sprintf("connection %d", i), found, connections[i])
	}
}

// Each field of each segment has the value that package segment reads, however TCP cuts the stream.
func TestSegmentFields(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for Wireshark")
	}
	whole := base(t)
	var connections [][]piece
	for _, most := range []int{65000, 1460, 100, 7, 1} {
		var pieces []piece
		for _, p := range whole {
			for c := range slices.Chunk(p.data, most) {
				pieces = append(pieces, piece{p.fromServer, c})
			}
		}
		connections = append(connections, pieces)
	}
	// All segments of a direction in one packet.
	var joined []piece
	for _, p := range whole {
		if n := len(joined); n > 0 && joined[n-1].fromServer == p.fromServer && len(joined[n-1].data)+len(p.data) < 65000 {
			joined[n-1].data = append(joined[n-1].data[:len(joined[n-1].data):len(joined[n-1].data)], p.data...)
			continue
		}
		joined = append(joined, p)
	}
	if len(joined) == len(whole) {
		t.Error("no packet has two segments")
	}
	connections = append(connections, joined)
	compareAll(t, tshark.Input{File: write(t, 0, connections...), Scripts: rdmatcpScript, Args: onPort}, connections)
}

// The profile's own data are shown: hello, solicited events, invalidated keys and reports.
func TestProfileFields(t *testing.T) {
	found := segments(t, write(t, 0, base(t)))
	for _, tt := range []struct {
		segment int
		want    string
	}{
		{0, "hello.magic=rpd1 hello.version=1 hello.flags=0x00 hello.private_length=8 hello.max_send=65536 hello.reads_served=16 hello.reads_wanted=4 " +
			"hello.private=f6:ab:0e:18:01:01:03:03 hello.rpcrdma.version=1 hello.rpcrdma.invalidate=1 hello.rpcrdma.send_size=4096 hello.rpcrdma.receive_size=4096"},
		{1, "hello.private_length=3 hello.max_send=8192 hello.reads_served=2 hello.reads_wanted=1 hello.private=61:62:63"},
		{2, "message.segments=1 message.length=5"},
		{3, "message.segments=1 message.length=0 solicited="},
		{7, "request_in=6"},
		{9, "request_in=6 message.segments=2 message.length=12"},
		{10, "message.segments=3 message.length=13"},
		{11, "request_in=7 message.segments=1 message.length=0"},
		{14, "message.segments=3 message.length=10"},
		{15, "solicited= invalidate=0x0000cafe"},
		{16, "report.reason=3 report.message_number=0x00000002 report.rdma_buffer_id=0x0000cafe"},
	} {
		for _, pair := range strings.Fields(tt.want) {
			name, value, _ := strings.Cut(pair, "=")
			if got := found[tt.segment].Fields["rdmatcp."+name]; !slices.Equal(got, []string{value}) {
				t.Errorf("segment %d: %s is %q, want %q", tt.segment, name, got, value)
			}
		}
	}
}

// sealed returns a segment with a right CRC: the header, unchanged, and as many bytes as it says.
func sealed(b []byte, header int) []byte {
	length := int(binary.BigEndian.Uint16(b[2:]))
	wire := length + -length&3
	if b[0] != 1 || length < header {
		return b
	}
	out := make([]byte, wire, wire+segment.TrailerSize)
	copy(out, b[:len(b)-segment.TrailerSize])
	return binary.LittleEndian.AppendUint32(out, crc.Checksum(out))
}

// faults changes a header in all its fields.
var faults = []struct {
	name   string
	change func(b []byte)
}{
	{"version", func(b []byte) { b[0] = 2 }},
	{"res", func(b []byte) { b[1] ^= 0xf0 }},
	{"B", func(b []byte) { b[1] ^= 8 }},
	{"E", func(b []byte) { b[1] ^= 4 }},
	{"B and E", func(b []byte) { b[1] ^= 12 }},
	{"type", func(b []byte) { b[1] ^= 1 }},
	{"group", func(b []byte) { b[1] ^= 3 }},
	{"short", func(b []byte) { b[2], b[3] = 0, 23 }},
	{"no control data", func(b []byte) { b[2], b[3] = 0, 32 }},
	{"longer", func(b []byte) { binary.BigEndian.PutUint16(b[2:], binary.BigEndian.Uint16(b[2:])+1) }},
	{"shorter", func(b []byte) { binary.BigEndian.PutUint16(b[2:], binary.BigEndian.Uint16(b[2:])-1) }},
	{"Connection ID", func(b []byte) { b[11]++ }},
	{"Message Number after", func(b []byte) { binary.BigEndian.PutUint32(b[12:], binary.BigEndian.Uint32(b[12:])+1) }},
	{"Message Number before", func(b []byte) { binary.BigEndian.PutUint32(b[12:], binary.BigEndian.Uint32(b[12:])-1) }},
	{"order", func(b []byte) { b[16] ^= 0xff }},
	{"reserved", func(b []byte) { b[18] = 77 }},
	{"CLEN", func(b []byte) { b[19]++ }},
	{"CLEN too long", func(b []byte) { b[19] = 255 }},
	{"first word of its own", func(b []byte) { b[23]++ }},
	{"first word of its own, high", func(b []byte) { b[20] ^= 0x80 }},
	{"long header, second word", func(b []byte) { b[27]++ }},
	{"long header, second word, high", func(b []byte) { b[24] ^= 0xff }},
	{"long header, third word", func(b []byte) { b[31]++ }},
	{"long header, third word, high", func(b []byte) { b[28] ^= 0xff }},
}

// A segment that breaks a rule has the note of that rule, and of no other: the one that package
// segment reports. Each segment of a connection is changed in each field of its header, and each
// byte range behind it is damaged.
func TestSegmentRules(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for Wireshark")
	}
	whole := base(t)
	var names []string
	var connections [][]piece
	add := func(name string, i int, b []byte) {
		if slices.Equal(b, whole[i].data) {
			return
		}
		names = append(names, fmt.Sprintf("segment %d, %s", i, name))
		connections = append(connections, append(whole[:i:i], piece{whole[i].fromServer, b}))
	}
	for i := range whole {
		if i == 0 {
			continue // a connection is known by its first message
		}
		var h segment.Header
		if err := h.Decode(whole[i].data); err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			if strings.HasPrefix(fault.name, "long header") && h.Type.HeaderSize() == segment.ShortHeader {
				continue
			}
			b := slices.Clone(whole[i].data)
			fault.change(b)
			add(fault.name, i, sealed(b, segment.Type(b[1]&3).HeaderSize()))
		}
		for _, at := range []int{4, h.Type.HeaderSize(), int(h.Length), len(whole[i].data) - 5, len(whole[i].data) - 1} {
			b := slices.Clone(whole[i].data)
			b[at] ^= 0x40
			add(fmt.Sprintf("byte %d", at), i, b)
		}
	}
	// Messages that are repeated, and a response without a request.
	for i := range whole {
		connections = append(connections, append(whole[:i+1:i+1], whole[i]))
		names = append(names, fmt.Sprintf("segment %d twice", i))
	}
	connections = append(connections, append(whole[:2:2], whole[7]))
	names = append(names, "Read_Response alone")

	found := byConnection(t, tshark.Input{File: write(t, 0, connections...), Scripts: rdmatcpScript}, len(connections))
	seen := map[string]bool{}
	for i, pieces := range connections {
		compare(t, names[i], found[i], pieces)
		if n := len(found[i]); n > 0 {
			seen[brokenRules(found[i][n-1])] = true
		}
	}
	var missing []string
	for _, rule := range rules {
		if !seen[rule] && !slices.Contains([]string{"truncated", "bad_hello", "bad_control"}, rule) {
			missing = append(missing, rule)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no segment broke %v", missing)
	}
}

// A packet that the capture has shortened shows the header as far as it goes, and a note.
func TestSegmentTruncated(t *testing.T) {
	whole := base(t)
	want := expected(whole)
	for _, kept := range []int{28, 40, 56} {
		found := segments(t, write(t, 40+kept, whole), onPort...)
		if len(found) != len(whole) {
			t.Errorf("%d bytes kept: %d segments, want %d", kept, len(found), len(whole))
			continue
		}
		for i, p := range found {
			if len(whole[i].data) <= kept {
				continue
			}
			if rule := brokenRules(p); rule != "truncated" {
				t.Errorf("%d bytes kept, segment %d: %q, want truncated", kept, i, rule)
			}
			if kept < segment.LongHeader {
				continue
			}
			header := map[string]uint64{}
			for name := range want[i].fields {
				if !strings.HasPrefix(name, "crc") {
					header[name] = p.Number(t, "rdmatcp."+name)
				}
			}
			for name := range want[i].fields {
				if strings.HasPrefix(name, "crc") {
					delete(want[i].fields, name)
				}
			}
			if d := cmp.Diff(want[i].fields, header); d != "" {
				t.Errorf("%d bytes kept, segment %d (-want +got):\n%s", kept, i, d)
			}
		}
	}
}

// A connection is found by a hello, or by a segment whose CRC is right. Other streams are left
// alone, and so are connections that begin before the capture, unless their port is known.
func TestFound(t *testing.T) {
	whole := base(t)
	damaged := slices.Clone(whole[2].data)
	damaged[len(damaged)-1] ^= 1
	for _, tt := range []struct {
		name   string
		pieces []piece
		args   []string
		want   int
	}{
		{"hello", whole[:3], nil, 3},
		{"Send", whole[2:4], nil, 2},
		{"damaged Send", []piece{{false, damaged}, whole[3]}, nil, 2}, // found by its second packet
		{"part of a Send", []piece{{false, whole[15].data[:1000]}, {false, whole[15].data[1000:]}}, nil, 0},
		{"part of a Send, known port", []piece{{false, whole[15].data[:1000]}, {false, whole[15].data[1000:]}}, onPort, 1},
		{"text", []piece{{false, []byte(strings.Repeat("\x01 is not a segment", 5))}}, nil, 0},
	} {
		if found := segments(t, write(t, 0, tt.pieces), tt.args...); len(found) != tt.want {
			t.Errorf("%s: %d segments, want %d", tt.name, len(found), tt.want)
		}
	}
}

// A capture that begins in the middle of a connection breaks no rule by what it lacks.
func TestBeginsLate(t *testing.T) {
	whole := base(t)
	var connections [][]piece
	for i := 2; i < len(whole); i++ {
		connections = append(connections, whole[i:])
	}
	found := segments(t, write(t, 0, connections...), onPort...)
	if want := len(connections) * (len(connections) + 1) / 2; len(found) != want {
		t.Errorf("%d segments, want %d", len(found), want)
	}
	for _, p := range found {
		if rule := brokenRules(p); rule != "" {
			t.Errorf("packet %d: %s", p.Packet, rule)
		}
	}
}
