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
	named              uint32 // XID of the Call that names the key; 0: none
	cancelled          bool   // its Call was cancelled: a late access of the peer is allowed
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
