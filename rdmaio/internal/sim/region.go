package sim

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// region is memory that one end of a connection has registered.
type region struct {
	verbs.MemoryRegion // never called: the engine does not, and the network uses the fields below
	bytes              []byte
	key                uint32
	addr               uint64
	access             verbs.Access
	live               bool
	named              uint32                 // XID of the Call that names the key; 0: none
	size               int                    // with provide
	provide            func() ([]byte, error) // memory for the first write; nil: it is there
	cancelled          bool                   // its Call was cancelled: the peer may be late
}

// length returns the size of the region.
func (r *region) length() uint64 { return uint64(max(len(r.bytes), r.size)) }

// fill gives a region its memory, and reports whether there is some.
func (r *region) fill() bool {
	b, err := r.provide()
	if err == nil {
		copy(b, poisoned(len(b)))
		r.bytes, r.provide = b, nil
	}
	return err == nil
}

// poison fills all memory before it is used. It must never be sent or read.
const poison = 0xa5

// poisoned returns n bytes of poison.
func poisoned(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = poison
	}
	return b
}

// local returns the memory of a request's element.
func local(s *verbs.SGE) []byte {
	return s.MR.(*region).bytes[s.Offset : s.Offset+s.Length]
}
