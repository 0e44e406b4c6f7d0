package packets

import (
	"encoding/binary"
	"io"
)

// The magic numbers of pcap, for times in microseconds and in nanoseconds.
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
)

// header reads the header of a pcap file.
func (r *Reader) header() error {
	b, err := r.read(24)
	if err != nil {
		return err
	}
	r.order = binary.LittleEndian
	if m := binary.BigEndian.Uint32(b); m == magicMicro || m == magicNano {
		r.order = binary.BigEndian
	}
	r.link = uint16(r.order.Uint32(b[20:])) // the upper half has the length of a checksum
	r.scale = decimal(6)
	if r.order.Uint32(b) == magicNano {
		r.scale = decimal(9)
	}
	return nil
}

// record reads a packet of a pcap file.
func (r *Reader) record() (Packet, error) {
	if end, err := r.atEnd(); end || err != nil {
		return Packet{}, orEOF(err)
	}
	r.start = r.off
	b, err := r.read(16)
	if err != nil {
		return Packet{}, err
	}
	second, part := r.order.Uint32(b), r.order.Uint32(b[4:])
	kept, sent := r.order.Uint32(b[8:]), r.order.Uint32(b[12:])
	if kept > maxPacket {
		return Packet{}, r.fault("found a packet of %d bytes, expected at most %d", kept, maxPacket)
	}
	p := Packet{Link: r.link, Time: int64(second)*1e9 + r.scale.nanoseconds(uint64(part)), Missing: missing(kept, sent)}
	p.Data, err = r.read(int(kept))
	return p, err
}

// missing returns the bytes that the capture left out of a packet.
func missing(kept, sent uint32) int { return int(max(int64(sent)-int64(kept), 0)) }

func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
