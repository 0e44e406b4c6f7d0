package perftest

import (
	"encoding/binary"
	"fmt"
)

// handshakeSize is the length of a handshake.
const handshakeSize = 56

// The offsets of a handshake's fields, which this package uses. The others are identifiers of
// InfiniBand, which iWARP has not.
const (
	offKey  = 16
	offAddr = 24
)

// Memory names memory of one end, for the RDMA Writes of the other.
type Memory struct {
	Key  uint32
	Addr uint64
}

// appendHandshake appends a handshake that names m.
func (m Memory) appendHandshake(b []byte) []byte {
	n := len(b)
	b = append(b, make([]byte, handshakeSize)...)
	binary.BigEndian.PutUint32(b[n+offKey:], m.Key)
	binary.BigEndian.PutUint64(b[n+offAddr:], m.Addr)
	return b
}

// parseHandshake returns the memory that a handshake names.
func parseHandshake(b []byte) (Memory, error) {
	if len(b) != handshakeSize {
		return Memory{}, fmt.Errorf("perftest: a handshake of %d bytes, expected %d", len(b), handshakeSize)
	}
	return Memory{Key: binary.BigEndian.Uint32(b[offKey:]), Addr: binary.BigEndian.Uint64(b[offAddr:])}, nil
}
