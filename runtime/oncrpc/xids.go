package oncrpc

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
)

// XIDs returns consecutive XIDs. Seed makes them begin at random, so that a program that was
// started again does not find its own old Calls in a reply cache.
type XIDs struct{ last atomic.Uint32 }

// Seed sets a random start.
func (x *XIDs) Seed() {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	x.last.Store(binary.BigEndian.Uint32(b[:]))
}

// Next returns the next XID.
func (x *XIDs) Next() uint32 { return x.last.Add(1) }
