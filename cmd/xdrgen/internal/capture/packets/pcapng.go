package packets

import (
	"encoding/binary"
	"math/bits"
)

// The blocks of pcapng (draft-ietf-opsawg-pcapng) that are read. All others are skipped.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockSimple    = 3
	blockPacket    = 6 // "enhanced"
	byteOrderMark  = 0x1a2b3c4d
)

// The options of an interface that are read.
const (
	optionEnd        = 0
	optionResolution = 9
	optionOffset     = 14
)

// iface is an interface of a section.
type iface struct {
	link  uint16
	snap  uint32
	scale resolution
}

// resolution converts times to nanoseconds.
type resolution struct {
	units  uint64 // in a second; never 0
	offset int64  // seconds
}

func decimal(exponent uint8) resolution {
	units := uint64(1)
	for range min(exponent, 19) {
		units *= 10
	}
	return resolution{units: units}
}

// nanoseconds returns a time in nanoseconds. A time that an int64 cannot hold wraps.
func (s resolution) nanoseconds(t uint64) int64 {
	seconds, rest := t/s.units, t%s.units
	high, low := bits.Mul64(rest, 1e9)
	fraction, _ := bits.Div64(high, low, s.units)
	return (int64(seconds)+s.offset)*1e9 + int64(fraction)
}

// block reads blocks up to the next packet of a pcapng file.
func (r *Reader) block() (Packet, error) {
	for {
		if end, err := r.atEnd(); end || err != nil {
			return Packet{}, orEOF(err)
		}
		r.start = r.off
		b, err := r.read(8)
		if err != nil {
			return Packet{}, err
		}
		// The type of a section header block is the same in both byte orders.
		if binary.BigEndian.Uint32(b) == blockSection {
			err = r.section([4]byte(b[4:]))
		} else {
			var p Packet
			var ok bool
			if p, ok, err = r.other(r.order.Uint32(b), r.order.Uint32(b[4:])); ok && err == nil {
				return p, nil
			}
		}
		if err != nil {
			return Packet{}, err
		}
	}
}

// section reads the rest of a section header block.
func (r *Reader) section(length [4]byte) error {
	b, err := r.read(4)
	if err != nil {
		return err
	}
	switch {
	case binary.LittleEndian.Uint32(b) == byteOrderMark:
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(b) == byteOrderMark:
		r.order = binary.BigEndian
	default:
		return r.fault("found the byte order mark % x, expected 1a 2b 3c 4d in either order", b)
	}
	r.interfaces = r.interfaces[:0]
	n := r.order.Uint32(length[:])
	if n < 28 || n%4 != 0 {
		return r.fault("found a section header block of %d bytes, expected 28 or more, and whole words", n)
	}
	return r.skip(int64(n) - 12)
}

// other reads the rest of any other block.
func (r *Reader) other(kind, length uint32) (p Packet, ok bool, err error) {
	if length < 12 || length%4 != 0 {
		return p, false, r.fault("found a block of %d bytes, expected 12 or more, and whole words", length)
	}
	body := int64(length) - 12
	switch kind {
	case blockInterface, blockPacket, blockSimple:
	default:
		return p, false, r.skip(body + 4)
	}
	if body > maxPacket {
		return p, false, r.fault("found a block of %d bytes, expected at most %d", length, maxPacket)
	}
	b, err := r.read(int(body) + 4)
	if err != nil {
		return p, false, err
	}
	if again := r.order.Uint32(b[body:]); again != length {
		return p, false, r.fault("found a block of %d bytes that ends with the length %d", length, again)
	}
	switch b = b[:body]; kind {
	case blockInterface:
		return p, false, r.addInterface(b)
	case blockSimple:
		p, err = r.simple(b)
	default:
		p, err = r.enhanced(b)
	}
	return p, true, err
}

// addInterface reads the body of an interface description block.
func (r *Reader) addInterface(b []byte) error {
	if len(b) < 8 {
		return r.fault("found an interface description of %d bytes, expected 8 or more", len(b))
	}
	if len(r.interfaces) == maxInterfaces {
		return r.fault("found more than %d interfaces", maxInterfaces)
	}
	i := iface{link: r.order.Uint16(b), snap: r.order.Uint32(b[4:]), scale: decimal(6)}
	offset := int64(0)
	for b = b[8:]; len(b) >= 4; {
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if b = b[4:]; n > len(b) || code == optionEnd {
			break
		}
		switch {
		case code == optionResolution && n == 1 && b[0]&0x80 == 0:
			i.scale = decimal(b[0])
		case code == optionResolution && n == 1:
			i.scale = resolution{units: 1 << min(b[0]&0x7f, 63)}
		case code == optionOffset && n == 8:
			offset = int64(r.order.Uint64(b))
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	i.scale.offset = offset
	r.interfaces = append(r.interfaces, i)
	return nil
}

// enhanced reads the body of an enhanced packet block.
func (r *Reader) enhanced(b []byte) (Packet, error) {
	if len(b) < 20 {
		return Packet{}, r.fault("found a packet block of %d bytes, expected 20 or more", len(b))
	}
	number, kept := r.order.Uint32(b), r.order.Uint32(b[12:])
	if uint64(number) >= uint64(len(r.interfaces)) {
		return Packet{}, r.fault("found a packet of interface %d, expected one of the %d of its section", number, len(r.interfaces))
	}
	if uint64(kept) > uint64(len(b)-20) {
		return Packet{}, r.fault("found a packet of %d bytes in a block with room for %d", kept, len(b)-20)
	}
	i := &r.interfaces[number]
	at := uint64(r.order.Uint32(b[4:]))<<32 | uint64(r.order.Uint32(b[8:]))
	return Packet{
		Time: i.scale.nanoseconds(at), Link: i.link, Data: b[20 : 20+kept],
		Missing: missing(kept, r.order.Uint32(b[16:])),
	}, nil
}

// simple reads the body of a simple packet block, which has no time and is of interface 0.
func (r *Reader) simple(b []byte) (Packet, error) {
	if len(b) < 4 || len(r.interfaces) == 0 {
		return Packet{}, r.fault("found a simple packet block of %d bytes and %d interfaces, expected 4 and 1 or more", len(b), len(r.interfaces))
	}
	i, sent := &r.interfaces[0], r.order.Uint32(b)
	kept := min(sent, uint32(len(b)-4))
	if i.snap > 0 {
		kept = min(kept, i.snap)
	}
	return Packet{Link: i.link, Data: b[4 : 4+kept], Missing: missing(kept, sent)}, nil
}
