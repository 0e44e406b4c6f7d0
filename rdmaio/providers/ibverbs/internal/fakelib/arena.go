//go:build linux

package fakelib

import (
	"sync"
	"syscall"
)

const (
	slotSize  = 1024 // bytes of the largest object
	arenaSize = 256 << 10

	// spareSlots is the number of free slots that are kept unused, so that a destroyed object's
	// handle is not soon the handle of another one.
	spareSlots = 256
)

// arena allocates the memory of objects outside the Go heap.
type arena struct {
	mu     sync.Mutex
	chunks [][]byte
	slots  [][]byte // oldest first
}

// alloc returns slotSize bytes of zeros.
func (a *arena) alloc() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.slots) <= spareSlots {
		chunk, err := syscall.Mmap(-1, 0, arenaSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			panic("fakelib: no memory for objects: " + err.Error())
		}
		a.chunks = append(a.chunks, chunk)
		for ; len(chunk) > 0; chunk = chunk[slotSize:] {
			a.slots = append(a.slots, chunk[:slotSize:slotSize])
		}
	}
	b := a.slots[0]
	a.slots = a.slots[1:]
	clear(b)
	return b
}

// free overwrites an object.
func (a *arena) free(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fill(b, 0xdd)
	a.slots = append(a.slots, b)
}

func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.chunks {
		_ = syscall.Munmap(c)
	}
	a.chunks, a.slots = nil, nil
}

// fill sets all bytes of b to v.
func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
