package pcapng

import (
	"encoding/binary"
	"errors"
)

// Segment is a TCP segment of a file that this package wrote.
type Segment struct {
	Connection    int // from 0, in the order of their first segments
	FromInitiator bool
	Payload       []byte
}

// errFormat is the error for files of other programs.
var errFormat = errors.New("pcapng: not a whole file of this package with whole packets")

// Read returns the segments of a file that this package wrote, in their order. Payloads are parts
// of b. The file must have whole packets: NewFile with 0.
func Read(b []byte) (all []Segment, err error) {
	for len(b) > 0 {
		if len(b) < 12 {
			return nil, errFormat
		}
		n := binary.LittleEndian.Uint32(b[4:])
		if n < 12 || n%4 != 0 || uint64(n) > uint64(len(b)) {
			return nil, errFormat
		}
		if binary.LittleEndian.Uint32(b) == enhancedPacket {
			s, err := segment(b[8 : n-4])
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		b = b[n:]
	}
	return all, nil
}

// segment reads the body of an enhanced packet block.
func segment(b []byte) (s Segment, err error) {
	if len(b) < 20+headers {
		return s, errFormat
	}
	kept := binary.LittleEndian.Uint32(b[12:])
	p := b[20:]
	if kept < headers || kept != binary.LittleEndian.Uint32(b[16:]) || uint64(kept) > uint64(len(p)) {
		return s, errFormat
	}
	return Segment{
		Connection:    int(binary.LittleEndian.Uint32(b)),
		FromInitiator: binary.BigEndian.Uint16(p[ipHeader+2:]) == nfsPort,
		Payload:       p[headers:kept:kept],
	}, nil
}
