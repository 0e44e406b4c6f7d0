package verbs

import (
	"encoding/binary"
	"fmt"
)

// Shape is a load: the octets that an operation moves, and the number of concurrent operations.
type Shape struct{ Size, Depth int }

// String returns the shape in the form "64 KiB x 16".
func (s Shape) String() string {
	switch {
	case s.Size >= 1<<20 && s.Size%(1<<20) == 0:
		return fmt.Sprintf("%d MiB x %d", s.Size>>20, s.Depth)
	case s.Size >= 1<<10 && s.Size%(1<<10) == 0:
		return fmt.Sprintf("%d KiB x %d", s.Size>>10, s.Depth)
	}
	return fmt.Sprintf("%d B x %d", s.Size, s.Depth)
}

// Limits of the memory that a server allocates for a client.
const (
	maxSize  = 16 << 20
	maxDepth = 1 << 10
	maxRoom  = 64 << 20
)

// check returns an error for a shape that is not positive or beyond the limits.
func (s Shape) check() error {
	if s.Size < 1 || s.Size > maxSize || s.Depth < 1 || s.Depth > maxDepth || s.Size*s.Depth > maxRoom {
		return fmt.Errorf("shape %v: expected 1 to %d octets, depth 1 to %d, at most %d octets in all", s, maxSize, maxDepth, maxRoom)
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
		return Shape{}, fmt.Errorf("found %d octets, expected the %d of a shape", len(b), shapeSize)
	}
	s := Shape{int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))}
	return s, s.check()
}

// kind is the purpose of a TCP connection. It is the first octet of the greeting; a Shape follows
// it.
type kind byte

const (
	kindEcho     kind = 'e' // Size octets in each direction
	kindSink     kind = 's' // runs of 8 octets n, n octets, and one back
	kindFramed   kind = 'f'
	kindFramedGo kind = 'g'
	kindSegments kind = 'c'
	kindBack     kind = 'b' // whatever was read, back
)

const greetingSize = 1 + shapeSize
