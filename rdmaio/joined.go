package rdmaio

import (
	"math/bits"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// joinedMemory is memory of continued messages that is no longer in use: one pool for each power of
// two from 8 KiB to 1 MiB. The garbage collector frees unused memory, so it does not count
// for Config.MaxMemory.
type joinedMemory struct {
	pools [mostJoined - leastJoined + 1]sync.Pool // of *[]byte
}

// The lengths, as powers of two.
const leastJoined, mostJoined = 13, 20

var _ engine.Memory = (*joinedMemory)(nil)

// pool returns the pool for buffers of n bytes, or nil for a size without a pool.
func (m *joinedMemory) pool(n int) *sync.Pool {
	i := bits.Len(uint(n)) - 1
	if i < leastJoined || i > mostJoined || n != 1<<i {
		return nil
	}
	return &m.pools[i-leastJoined]
}

// Take returns n bytes with any contents.
func (m *joinedMemory) Take(n int) []byte {
	if p := m.pool(n); p != nil {
		if b, ok := p.Get().(*[]byte); ok {
			return *b
		}
	}
	return make([]byte, n)
}

// Give takes a buffer of Take back.
func (m *joinedMemory) Give(b []byte) {
	if p := m.pool(cap(b)); p != nil {
		b = b[:cap(b)]
		p.Put(&b)
	}
}
