package packets_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/packets"
)

// read returns the packets of a file, and the error at its end.
func read(b []byte) (all []packets.Packet, err error) {
	r, err := packets.NewReader(bytes.NewReader(b))
	for err == nil {
		var p packets.Packet
		if p, err = r.Next(); err == nil {
			p.Data = bytes.Clone(p.Data)
			all = append(all, p)
		}
	}
	return all, err
}

// pcap returns a pcap file with a packet "data" of 6 bytes, sent at 5.25 seconds.
func pcap(order binary.AppendByteOrder, magic, fraction uint32) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(order.AppendUint16(b, 2), 4)
	b = append(b, make([]byte, 12)...)
	b = order.AppendUint32(b, 1)
	for _, w := range []uint32{5, fraction, 4, 6} {
		b = order.AppendUint32(b, w)
	}
	return append(b, "data"...)
}

// pcapng returns a pcapng file with the same packet. option is the option of an interface.
func pcapng(order binary.AppendByteOrder, at uint64, option []byte) []byte {
	block := func(kind uint32, body []byte) []byte {
		body = append(body, make([]byte, -len(body)&3)...)
		n := uint32(len(body) + 12)
		return order.AppendUint32(append(order.AppendUint32(order.AppendUint32(nil, kind), n), body...), n)
	}
	words := func(w ...uint32) (b []byte) {
		for _, w := range w {
			b = order.AppendUint32(b, w)
		}
		return b
	}
	b := block(0x0a0d0d0a, append(order.AppendUint16(order.AppendUint16(words(0x1a2b3c4d), 1), 0), 255, 255, 255, 255, 255, 255, 255, 255))
	b = append(b, block(0xbad, []byte("unknown"))...)
	b = append(b, block(1, append(append(order.AppendUint16(order.AppendUint16(nil, 1), 0), words(0)...), option...))...)
	return append(b, block(6, append(words(0, uint32(at>>32), uint32(at), 4, 6), "data"...))...)
}

// Both formats are read in both byte orders, with the times that each has.
func TestFormatsAreRead(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	want := []packets.Packet{{Time: 5.25e9, Link: 1, Data: []byte("data"), Missing: 2}}
	for name, b := range map[string][]byte{
		"pcap":                 pcap(little, 0xa1b2c3d4, 250000),
		"pcap, big endian":     pcap(big, 0xa1b2c3d4, 250000),
		"pcap in nanoseconds":  pcap(big, 0xa1b23c4d, 250000000),
		"pcapng":               pcapng(little, 5250000, nil),
		"pcapng, big endian":   pcapng(big, 5250000, nil),
		"pcapng, nanoseconds":  pcapng(little, 5250000000, []byte{9, 0, 1, 0, 9, 0, 0, 0}),
		"pcapng, power of two": pcapng(little, 21, []byte{9, 0, 1, 0, 0x82, 0, 0, 0}),
		"pcapng, offset":       pcapng(little, 250000, []byte{14, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0}),
	} {
		got, err := read(b)
		if d := cmp.Diff(want, got); d != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, d)
		}
		for n := range len(b) {
			if got, err := read(b[:n]); len(got) > 0 || err == nil {
				t.Errorf("%s: %d of %d bytes: %d packets, error %v", name, n, len(b), len(got), err)
			}
		}
	}
}

// Wrong lengths and numbers are faults, and nothing is allocated for a length before the bytes are
// there.
func TestWrongLengthsAreFaults(t *testing.T) {
	change := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	file, old := pcapng(binary.LittleEndian, 0, nil), pcap(binary.LittleEndian, 0xa1b2c3d4, 0)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"section":           {change(file, 4, 24), "section header block of 24 bytes"},
		"odd block":         {change(file, 32, 21), "block of 21 bytes"},
		"short block":       {change(file, 32, 8), "block of 8 bytes"},
		"block end":         {change(file, len(file)-4, 40), "that ends with the length 40"},
		"interface":         {change(file, 48+20-8+8+8, 7), "packet of interface 7"},
		"kept":              {change(file, len(file)-16, 5), "packet of 5 bytes in a block with room for 4"},
		"long pcap packet":  {change(old, 32, 17<<20), "packet of 17825792 bytes, expected at most 16777216"},
		"cut pcap packet":   {change(old, 32, 16<<20), "found 4 bytes before the end of the file, expected 16777216"},
		"cut pcapng packet": {change(file, len(file)-36+4, 16<<20), "before the end of the file"},
		"other file":        {[]byte("hello, world, this is text"), "another kind of file"},
	} {
		var err error
		if n := testing.AllocsPerRun(1, func() { _, err = read(c.b) }); n > 60 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
		var fault *packets.Error
		if !errors.As(err, &fault) || !bytes.Contains([]byte(fault.Message), []byte(c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// layers returns the datagram in a packet, with its payload copied.
func layers(link uint16, data []byte) (packets.Datagram, bool) {
	var l packets.Layers
	return l.Decode(packets.Packet{Link: link, Data: data})
}

// The layers below TCP and UDP are found in each kind of link. Payload stops where the IP packet
// does.
func TestLinksAreDecoded(t *testing.T) {
	four := capturetest.Packet{From: "10.0.0.1:700", To: "10.0.0.2:2049", UDP: true, Payload: "data"}
	six := capturetest.Packet{From: "[fe80::1]:700", To: "[fe80::2]:2049", Seq: 7, Ack: 8, Flags: capturetest.ACK | capturetest.FIN, Payload: "data"}
	extended := six.IP()
	extended[6] = 0
	extended[5] += 8
	extended = append(extended[:40:40], append([]byte{6, 0, 1, 4, 0, 0, 0, 0}, extended[40:]...)...)
	for name, c := range map[string]struct {
		link   uint16
		before string
		p      capturetest.Packet
		ip     []byte
	}{
		"ethernet":     {1, "ddddddssssss\x08\x00", four, nil},
		"two VLANs":    {1, "ddddddssssss\x88\xa8\x00\x01\x81\x00\x00\x02\x86\xdd", six, nil},
		"cooked":       {113, "0123456789abcdef", four, nil},
		"cooked 2":     {276, "0123456789abcdefghij", six, nil},
		"loopback":     {0, "\x02\x00\x00\x00", four, nil},
		"raw":          {101, "", four, nil},
		"raw IPv4":     {228, "", four, nil},
		"IPv6 options": {229, "", six, extended},
	} {
		ip := c.ip
		if ip == nil {
			ip = c.p.IP()
		}
		d, ok := layers(c.link, append([]byte(c.before), append(ip, "padding"...)...))
		if !ok || string(d.Payload) != "data" || d.From != netip.MustParseAddrPort(c.p.From) || d.To != netip.MustParseAddrPort(c.p.To) ||
			d.Seq != c.p.Seq || d.Ack != c.p.Ack || d.FIN != (c.p.Flags&1 != 0) || d.HasAck != (c.p.Flags&16 != 0) {
			t.Errorf("%s: %v %+v", name, ok, d)
		}
		whole := append([]byte(c.before), ip...)
		for n := range whole {
			if d, ok := layers(c.link, whole[:n]); ok && len(d.Payload)+d.Missing != 4 {
				t.Errorf("%s: %d bytes are %+v", name, n, d)
			}
		}
	}
	var l packets.Layers
	if _, ok := l.Decode(packets.Packet{Link: 105, Data: four.IP()}); ok || l.Unknown != 1 || l.Link != 105 {
		t.Errorf("an unknown link type: %v, %d of type %d", ok, l.Unknown, l.Link)
	}
}

// A UDP datagram is put together from fragments in any order, with overlaps.
func TestFragmentsAreJoined(t *testing.T) {
	p := capturetest.Packet{From: "10.0.0.1:700", To: "10.0.0.2:2049", UDP: true, Payload: "0123456789abcdefghijklmnopqrstuvwxyz"}
	whole := p.IP()[20:]
	from, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	part := func(from4, to4 int, id uint16) []byte {
		flag := uint16(0x2000)
		if to4 == len(whole) {
			flag = 0
		}
		return capturetest.IPv4(from, to, 17, id, flag|uint16(from4/8), whole[from4:to4])
	}
	var l packets.Layers
	decode := func(b []byte) (packets.Datagram, bool) { return l.Decode(packets.Packet{Link: 101, Data: b}) }
	for i, order := range [][][2]int{
		{{0, 16}, {16, 32}, {32, 44}},
		{{32, 44}, {0, 16}, {16, 32}},
		{{0, 24}, {32, 44}, {0, 24}, {16, 40}},
		{{8, 16}, {32, 44}, {0, 40}},
	} {
		for k, o := range order {
			d, ok := decode(part(o[0], o[1], uint16(i)))
			if last := k == len(order)-1; ok != last || ok && string(d.Payload) != p.Payload {
				t.Errorf("order %d, fragment %d: %v %q", i, k, ok, d.Payload)
			}
		}
	}
	// A fragment without the others is forgotten after many packets.
	decode(part(0, 16, 500))
	for id := range uint16(70) {
		decode(part(0, 16, 600+id))
	}
	for _, o := range [][2]int{{16, 32}, {32, 44}} {
		if _, ok := decode(part(o[0], o[1], 500)); ok {
			t.Error("the fragments of more than 64 packets are kept")
		}
	}
}

// FuzzPackets reads arbitrary files. Payloads are no longer than the file.
func FuzzPackets(f *testing.F) {
	f.Add(pcap(binary.LittleEndian, 0xa1b2c3d4, 0))
	f.Add(pcapng(binary.BigEndian, 0, []byte{9, 0, 1, 0, 0x8a, 0, 0, 0}))
	f.Add(capturetest.File(capturetest.Packet{From: "[::1]:1", To: "[::2]:2", Payload: "data"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := read(b)
		if err == nil {
			t.Fatal("no error at the end")
		}
		var l packets.Layers
		n := 0
		for _, p := range all {
			n += len(p.Data)
			if d, ok := l.Decode(p); ok && len(d.Payload) > len(b) {
				t.Fatalf("a payload of %d bytes in a file of %d", len(d.Payload), len(b))
			}
		}
		if n > len(b) {
			t.Errorf("%d bytes of packets in a file of %d", n, len(b))
		}
	})
}
