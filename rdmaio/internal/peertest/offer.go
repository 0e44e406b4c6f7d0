package peertest

import (
	"fmt"
	"math/rand/v2"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Offer is memory of a Peer for others to use, with a record of what they did to it.
type Offer struct {
	verbs.MemoryRegion
	Data []byte

	was []byte
}

// Range is some bytes that others have changed.
type Range struct {
	At   int
	Data []byte
}

// Offer registers n bytes of any content. They end with the test.
func (p *Peer) Offer(n int, access verbs.Access) *Offer {
	p.t.Helper()
	o := &Offer{Data: make([]byte, n)}
	r := rand.New(rand.NewPCG(uint64(n), 99))
	for i := range o.Data {
		o.Data[i] = byte(r.Uint32())
	}
	o.was = append([]byte(nil), o.Data...)
	var err error
	o.MemoryRegion, err = p.pd.RegisterMemory(o.Data, access)
	p.must(err)
	if p.tell != nil {
		p.tell.ExemptKey(o.RKey())
	}
	p.t.Cleanup(func() {
		// The connection goes first: what is under way ends with it.
		for _, end := range []func() error{p.QP.Disconnect, o.Deregister} {
			if err := end(); err != nil {
				p.t.Error(err)
			}
		}
	})
	return o
}

// Segment is the whole of it in hexadecimal, as a segment of a chunk (RFC 8166 §3.4.3).
func (o *Offer) Segment() string { return o.Part(0, uint32(len(o.Data))) }

// Part is n bytes at an offset, likewise. They need not lie within.
func (o *Offer) Part(at int, n uint32) string {
	return fmt.Sprintf("%08x %08x %016x ", o.RKey(), n, o.RemoteAddr()+uint64(at))
}

// Fill makes its content another one by the Peer itself, which is no change by others.
func (o *Offer) Fill(b []byte) {
	copy(o.Data, b)
	copy(o.was, b)
}

// Changes tells what others have changed since the last time. Who may still write there must have
// been heard of, or the answer is a race.
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

// Within reports whether all changes lie in n bytes at an offset.
func Within(list []Range, at, n int) bool {
	for _, r := range list {
		if r.At < at || r.At+len(r.Data) > at+n {
			return false
		}
	}
	return true
}
