package verbs

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// The set-up of rdmatcp (docs/rdmatcp.md): each end sends a Write of no octets with these words as
// control data. The last two are those of RFC 8797 §4, for messages of at most 5 KiB.
const (
	helloMagic   = 0x72706431
	privateMagic = 0xf6ab0e18
	helloReads   = 256<<16 | 256 // Reads served at once, and wanted
	inlineSize   = 5 << 10
)

// hello sends the first message of an end.
func (f *floorEnd) hello() error {
	var control []byte
	inline := uint32(inlineSize>>10 - 1)
	for _, w := range []uint32{helloMagic, 1<<24 | 8, 16 << 20, helloReads, privateMagic, 1<<24 | inline<<8 | inline} {
		control = binary.BigEndian.AppendUint32(control, w)
	}
	b, err := segment.Append(nil, &segment.Header{Type: segment.Write, Begin: true, End: true, ConnID: f.id, Number: f.next()}, control, nil)
	if err != nil {
		return err
	}
	_, err = f.conn.Write(b)
	return err
}

// greeted reads the first message of the peer and returns the Connection ID.
func (f *floorEnd) greeted() (id uint64, err error) {
	b, err := f.r.peek(segment.LongHeader + segment.TrailerSize)
	if err != nil {
		return 0, err
	}
	if err := f.h.Decode(b); err != nil {
		return 0, err
	}
	if b, err = f.r.next(f.h.Wire()); err != nil {
		return 0, err
	}
	control, _, _, err := segment.Open(b, &f.h)
	if err != nil {
		return 0, err
	}
	magic := uint32(0)
	if len(control) >= 4 {
		magic = binary.BigEndian.Uint32(control)
	}
	switch {
	case f.h.Type != segment.Write || len(control) < 16 || magic != helloMagic:
		return 0, fmt.Errorf("found a first message %v with %d octets of control data that begin with %#x, expected %v with at least 16 that begin with %#x", f.h.Type, len(control), magic, segment.Write, helloMagic)
	case control[5] != 0:
		return 0, fmt.Errorf("found a refusal of the connection, with flags %#x, expected 0", control[5])
	}
	return f.h.ConnID, nil
}
