package ddp

import "encoding/binary"

// Sizes, in bytes.
const (
	TaggedSize   = 14 // header of a tagged segment
	UntaggedSize = 18 // header of an untagged segment
)

const (
	version     = 1
	maskVersion = 3
	flagTagged  = 0x80
	flagLast    = 0x40
)

// Header is the header of a segment (RFC 5041 §4). Its first byte has the flags and the
// version, its second the first byte of RsvdULP.
type Header struct {
	Tagged bool
	Last   bool  // the segment ends its message
	ULP    uint8 // first byte of RsvdULP, for the layer above

	// Of a tagged segment.
	STag uint32
	TO   uint64

	// Of an untagged segment.
	ULP2 uint32 // the other four bytes of RsvdULP
	QN   uint32
	MSN  uint32
	MO   uint32
}

// IsTagged reports whether a segment that begins with a byte is tagged.
func IsTagged(first byte) bool { return first&flagTagged != 0 }

// Size returns the size of the header in bytes.
func (h *Header) Size() int {
	if h.Tagged {
		return TaggedSize
	}
	return UntaggedSize
}

// Put writes the header to b and returns its size. It panics if b has fewer than Size
// bytes.
func (h *Header) Put(b []byte) int {
	b = b[:h.Size()]
	b[0], b[1] = version, h.ULP
	if h.Last {
		b[0] |= flagLast
	}
	if h.Tagged {
		b[0] |= flagTagged
		binary.BigEndian.PutUint32(b[2:], h.STag)
		binary.BigEndian.PutUint64(b[6:], h.TO)
		return TaggedSize
	}
	binary.BigEndian.PutUint32(b[2:], h.ULP2)
	binary.BigEndian.PutUint32(b[6:], h.QN)
	binary.BigEndian.PutUint32(b[10:], h.MSN)
	binary.BigEndian.PutUint32(b[14:], h.MO)
	return UntaggedSize
}

// Decode reads the header from the start of b, which is a segment or its first bytes, and
// checks the version. The reserved bits are ignored.
func (h *Header) Decode(b []byte) error {
	if len(b) == 0 {
		return &Error{Rule: Truncated, Want: 1}
	}
	*h = Header{Tagged: IsTagged(b[0]), Last: b[0]&flagLast != 0}
	if v := b[0] & maskVersion; v != version {
		return h.refuse(BadVersion, uint64(v), version)
	}
	if size := h.Size(); len(b) < size {
		return h.refuse(Truncated, uint64(len(b)), uint64(size))
	}
	h.ULP = b[1]
	if h.Tagged {
		h.STag = binary.BigEndian.Uint32(b[2:])
		h.TO = binary.BigEndian.Uint64(b[6:])
		return nil
	}
	h.ULP2 = binary.BigEndian.Uint32(b[2:])
	h.QN = binary.BigEndian.Uint32(b[6:])
	h.MSN = binary.BigEndian.Uint32(b[10:])
	h.MO = binary.BigEndian.Uint32(b[14:])
	return nil
}

// refuse returns the error for a header that breaks a rule.
func (h *Header) refuse(rule Rule, got, want uint64) error {
	return &Error{Rule: rule, Tagged: h.Tagged, Got: got, Want: want}
}
