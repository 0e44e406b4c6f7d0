package packets

import (
	"encoding/binary"
	"net/netip"
)

// The protocols of a Datagram, by their numbers in IP.
const (
	TCP = 6
	UDP = 17
)

// Datagram is a TCP segment or a UDP datagram.
type Datagram struct {
	Time     int64 // nanoseconds since 1970
	Protocol uint8 // TCP or UDP
	From, To netip.AddrPort

	// Payload is valid until the next packet is decoded. Missing is the number of bytes after it
	// that the capture left out.
	Payload []byte
	Missing int

	// Of TCP:
	Seq, Ack      uint32
	SYN, FIN, RST bool
	HasAck        bool
}

// Link types that Layers decodes.
const (
	linkNull     = 0
	linkEthernet = 1
	linkBSDRaw   = 12
	linkRaw      = 101
	linkLoop     = 108
	linkCooked   = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkCooked2  = 276
)

// Layers decodes the layers below TCP and UDP: Ethernet with VLAN tags, Linux cooked captures,
// loopback, raw IP, IPv4 and IPv6 with their fragments. The zero value is ready. It is not safe for
// concurrent use.
type Layers struct {
	// Unknown counts packets of link types that are not decoded, and Link is the last such type.
	Unknown int64
	Link    uint16

	fragments fragments
}

// Decode returns the TCP segment or UDP datagram in a packet. It returns false for other packets,
// for packets too short for their headers, and for a fragment of an IP packet before its last one.
func (l *Layers) Decode(p Packet) (d Datagram, ok bool) {
	b := p.Data
	switch p.Link {
	case linkEthernet:
		b = ethernet(b)
	case linkCooked:
		b = after(b, 16)
	case linkCooked2:
		b = after(b, 20)
	case linkNull, linkLoop:
		b = after(b, 4)
	case linkRaw, linkIPv4, linkIPv6, linkBSDRaw:
	default:
		l.Unknown++
		l.Link = p.Link
		return d, false
	}
	d = Datagram{Time: p.Time, Missing: p.Missing}
	if len(b) == 0 {
		return d, false
	}
	switch b[0] >> 4 {
	case 4:
		b, ok = l.ipv4(&d, b)
	case 6:
		b, ok = l.ipv6(&d, b)
	}
	return d, ok && d.transport(b)
}

func after(b []byte, n int) []byte { return b[min(n, len(b)):] }

// ethernet returns what follows an Ethernet header and its VLAN tags, if it is IP.
func ethernet(b []byte) []byte {
	for b = after(b, 12); len(b) >= 2; b = after(b, 4) {
		switch binary.BigEndian.Uint16(b) {
		case 0x8100, 0x88a8, 0x9100: // VLAN tags
		case 0x0800, 0x86dd:
			return b[2:]
		default:
			return nil
		}
	}
	return nil
}

// trim shortens the payload of an IP packet to the length in its header: Ethernet pads short
// packets. The length is 0 if the network card divides the packet later.
func (d *Datagram) trim(b []byte, length int) []byte {
	switch {
	case length == 0:
	case length < len(b):
		b, d.Missing = b[:length], 0
	default:
		d.Missing = length - len(b)
	}
	return b
}

// ipv4 returns the payload of an IPv4 packet.
func (l *Layers) ipv4(d *Datagram, b []byte) ([]byte, bool) {
	if len(b) < 20 {
		return nil, false
	}
	head := int(b[0]&15) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || total != 0 && total < head || len(b) < head {
		return nil, false
	}
	b = d.trim(b, total)
	from, to := netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	d.Protocol = b[9]
	d.From, d.To = netip.AddrPortFrom(from, 0), netip.AddrPortFrom(to, 0)
	part := binary.BigEndian.Uint16(b[6:])
	if part&0x3fff == 0 {
		return b[head:], true
	}
	key := fragmentKey{from: from, to: to, id: uint32(binary.BigEndian.Uint16(b[4:])), protocol: b[9]}
	return l.fragments.add(key, int(part&0x1fff)*8, part&0x2000 == 0, b[head:], d.Missing)
}

// The extension headers of IPv6 that may come before the transport header.
const (
	hopByHop    = 0
	routing     = 43
	fragment    = 44
	destination = 60
)

// ipv6 returns the payload of an IPv6 packet.
func (l *Layers) ipv6(d *Datagram, b []byte) ([]byte, bool) {
	if len(b) < 40 {
		return nil, false
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length > 0 {
		length += 40
	}
	b = d.trim(b, length)
	from, to := netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	d.From, d.To = netip.AddrPortFrom(from, 0), netip.AddrPortFrom(to, 0)
	next := b[6]
	for b = b[40:]; len(b) >= 8; {
		switch next {
		case hopByHop, routing, destination:
			n := 8 + int(b[1])*8
			next, b = b[0], after(b, n)
		case fragment:
			part := binary.BigEndian.Uint16(b[2:])
			key := fragmentKey{from: from, to: to, id: binary.BigEndian.Uint32(b[4:]), protocol: b[0]}
			d.Protocol = b[0]
			return l.fragments.add(key, int(part&^7), part&1 == 0, b[8:], d.Missing)
		default:
			d.Protocol = next
			return b, true
		}
	}
	return nil, false
}

// transport decodes the header of TCP or UDP.
func (d *Datagram) transport(b []byte) bool {
	if len(b) < 8 || d.Protocol == TCP && len(b) < 20 {
		return false
	}
	d.From = netip.AddrPortFrom(d.From.Addr(), binary.BigEndian.Uint16(b))
	d.To = netip.AddrPortFrom(d.To.Addr(), binary.BigEndian.Uint16(b[2:]))
	switch d.Protocol {
	case UDP:
		if n := int(binary.BigEndian.Uint16(b[4:])); n >= 8 && n < len(b) {
			b, d.Missing = b[:n], 0
		}
		d.Payload = b[8:]
		return true
	case TCP:
		head := int(b[12]>>4) * 4
		if head < 20 || head > len(b) {
			return false
		}
		d.Seq, d.Ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		flags := b[13]
		d.FIN, d.SYN, d.RST, d.HasAck = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&16 != 0
		d.Payload = b[head:]
		return true
	}
	return false
}
