package peertest

import (
	"fmt"
	"math/rand/v2"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Offer is memory of a Peer that the other side may access, and a record of the changes to it.
type Offer struct {
	verbs.MemoryRegion
	Data []byte

	was []byte
}

// Range is a range of bytes that the other side has changed.
type Range struct {
	At   int
	Data []byte
}

// Offer registers n random bytes. They are deregistered at the end of the test.
func (p *Peer) Offer(n int, access verbs.Access) *Offer {
	p.t.Helper()
	o := new(Offer)
	var err error
	o.Data, err = p.PD.Alloc(n)
	p.must(err)
	r := rand.New(rand.NewPCG(uint64(n), 99))
	for i := range o.Data {
		o.Data[i] = byte(r.Uint32())
	}
	o.was = append([]byte(nil), o.Data...)
	o.MemoryRegion, err = p.PD.RegisterMemory(o.Data, access)
	p.must(err)
	if p.exempt != nil {
		p.exempt.ExemptKey(o.RKey())
	}
	p.t.Cleanup(func() {
		// Disconnecting first ends the accesses in progress.
		for _, end := range []func() error{p.QP.Disconnect, o.Deregister, func() error { return p.PD.Free(o.Data) }} {
			if err := end(); err != nil {
				p.t.Error(err)
			}
		}
	})
	return o
}

// Segment returns all of o as a segment of a chunk (RFC 8166 §3.4.3), in hexadecimal.
func (o *Offer) Segment() string { return o.Part(0, uint32(len(o.Data))) }

// Part returns n bytes at an offset as a segment. They need not be within o.
func (o *Offer) Part(at int, n uint32) string {
	return fmt.Sprintf("%08x %08x %016x ", o.RKey(), n, o.RemoteAddr()+uint64(at))
}

// Fill sets the first bytes of o to b. Changes does not report them.
func (o *Offer) Fill(b []byte) {
	copy(o.Data, b)
	copy(o.was, b)
}

// Changes returns the ranges that the other side has changed since the last call. The test must
// know that no access is in progress, or there is a race.
func (o *Offer) Changes() (list []Range) {
	for i := 0; i < len(o.Data); i++ {
		from := i
		for i < len(o.Data) && o.Data[i] != o.was[i] {
			i++
		}
		if i > from {
			list = append(list, Range{from, append([]byte(nil), o.Data[from:i]...)})
		}
	}
	copy(o.was, o.Data)
	return list
}

// Within reports whether all changes are within the n bytes at offset at.
func Within(list []Range, at, n int) bool {
	for _, r := range list {
		if r.At < at || r.At+len(r.Data) > at+n {
			return false
		}
	}
	return true
}
