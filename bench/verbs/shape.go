package verbs

import (
	"encoding/binary"
	"fmt"
)

// Shape is a load: how many octets an operation moves, and how many operations
// are outstanding.
type Shape struct{ Size, Depth int }

// String is "64 KiB x 16".
func (s Shape) String() string {
	switch {
	case s.Size >= 1<<20 && s.Size%(1<<20) == 0:
		return fmt.Sprintf("%d MiB x %d", s.Size>>20, s.Depth)
	case s.Size >= 1<<10 && s.Size%(1<<10) == 0:
		return fmt.Sprintf("%d KiB x %d", s.Size>>10, s.Depth)
	}
	return fmt.Sprintf("%d B x %d", s.Size, s.Depth)
}

// Limits of what a server makes room for at a client's word.
const (
	maxSize  = 16 << 20
	maxDepth = 1 << 10
	maxRoom  = 64 << 20
)

// check refuses a shape without sense or beyond the limits.
func (s Shape) check() error {
	if s.Size < 1 || s.Size > maxSize || s.Depth < 1 || s.Depth > maxDepth || s.Size*s.Depth > maxRoom {
		return fmt.Errorf("shape %v: want 1 to %d octets, depth 1 to %d, %d octets in all", s, maxSize, maxDepth, maxRoom)
	}
	return nil
}

// shapeSize is the length of a Shape in a greeting or private data.
const shapeSize = 8

func (s Shape) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(s.Size))
	return binary.BigEndian.AppendUint32(b, uint32(s.Depth))
}

func parseShape(b []byte) (Shape, error) {
	if len(b) < shapeSize {
		return Shape{}, fmt.Errorf("%d octets, a shape has %d", len(b), shapeSize)
	}
	s := Shape{int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))}
	return s, s.check()
}

// kind is what a TCP connection is used for: the first octet of its greeting,
// which a Shape follows.
type kind byte

const (
	kindEcho     kind = 'e' // Size octets there and back
	kindSink     kind = 's' // runs of 8 octets n, n octets, and one back
	kindFramed   kind = 'f'
	kindFramedGo kind = 'g'
	kindSegments kind = 'c'
)

const greetingSize = 1 + shapeSize
