// Package capturetest makes captures for tests: files of packets with any bytes, in any order.
package capturetest

import (
	"encoding/binary"
	"net/netip"
)

// Packet is an IP packet.
type Packet struct {
	Time     int64 // nanoseconds since 1970
	From, To string
	UDP      bool
	Seq, Ack uint32
	Flags    byte // of TCP: ACK, SYN, FIN, RST
	Payload  string
	Lost     int // bytes of Payload that the capture left out
}

// The flags of TCP.
const (
	FIN = 1
	SYN = 2
	RST = 4
	ACK = 16
)

// IP returns the packet from its IP header on, without checksums.
func (p *Packet) IP() []byte {
	from, to := netip.MustParseAddrPort(p.From), netip.MustParseAddrPort(p.To)
	var t []byte
	t = binary.BigEndian.AppendUint16(t, from.Port())
	t = binary.BigEndian.AppendUint16(t, to.Port())
	protocol := byte(6)
	if p.UDP {
		protocol = 17
		t = binary.BigEndian.AppendUint16(t, uint16(8+len(p.Payload)))
		t = append(t, 0, 0)
	} else {
		t = binary.BigEndian.AppendUint32(t, p.Seq)
		t = binary.BigEndian.AppendUint32(t, p.Ack)
		t = append(t, 5<<4, p.Flags, 255, 255, 0, 0, 0, 0)
	}
	t = append(t, p.Payload...)
	if from.Addr().Is4() {
		return IPv4(from.Addr(), to.Addr(), protocol, 0, 0, t)
	}
	b := []byte{0x60, 0, 0, 0, byte(len(t) >> 8), byte(len(t)), protocol, 64}
	b = append(append(b, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	return append(b, t...)
}

// IPv4 returns an IPv4 packet or a fragment of one. fragment is the field with flags and offset.
func IPv4(from, to netip.Addr, protocol byte, id, fragment uint16, payload []byte) []byte {
	n := 20 + len(payload)
	b := []byte{0x45, 0, byte(n >> 8), byte(n), byte(id >> 8), byte(id), byte(fragment >> 8), byte(fragment), 64, protocol, 0, 0}
	b = append(append(b, from.AsSlice()...), to.AsSlice()...)
	return append(b, payload...)
}

// Raw is the link type of raw IP.
const Raw = 101

// File returns a pcapng file of raw IP with times in nanoseconds.
func File(all ...Packet) []byte {
	b := Head(Raw)
	for i := range all {
		b = append(b, Block(all[i].Time, all[i].IP(), all[i].Lost)...)
	}
	return b
}

var little = binary.LittleEndian

// Head returns the blocks before the packets of a pcapng file, for one interface.
func Head(link uint16) []byte {
	b := block(0x0a0d0d0a, append([]byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0}, 255, 255, 255, 255, 255, 255, 255, 255))
	i := little.AppendUint16(nil, link)
	return append(b, block(1, append(i, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0))...)
}

// Block returns the block of a packet without its last bytes, lost in number.
func Block(at int64, data []byte, lost int) []byte {
	b := little.AppendUint32(nil, 0)
	b = little.AppendUint32(b, uint32(uint64(at)>>32))
	b = little.AppendUint32(b, uint32(at))
	b = little.AppendUint32(b, uint32(len(data)-lost))
	b = little.AppendUint32(b, uint32(len(data)))
	return block(6, append(b, data[:len(data)-lost]...))
}

func block(kind uint32, body []byte) []byte {
	body = append(body, make([]byte, -len(body)&3)...)
	n := uint32(12 + len(body))
	b := little.AppendUint32(nil, kind)
	b = little.AppendUint32(b, n)
	return little.AppendUint32(append(b, body...), n)
}

// Words returns 32-bit words as bytes.
func Words(words ...uint32) string {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return string(b)
}

// Call returns a Call without credential.
func Call(xid, program, version, procedure uint32, args string) string {
	return Words(xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + args
}

// Reply returns a successful reply.
func Reply(xid uint32, results string) string { return Words(xid, 1, 0, 0, 0, 0) + results }

// Record returns a message with its record mark.
func Record(message string) string { return Words(uint32(len(message))|1<<31) + message }
