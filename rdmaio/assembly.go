package rdmaio

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// freeMemory is the number of bytes that a connection may take for Calls with chunks before the
// peer has delivered any. With what a first message adds, this fills a buffer of 32 KiB.
// perDelivered is the number of bytes that it may take for each byte delivered. Buffers are up to a
// quarter longer than their contents, so a peer can make the server use 64 KiB, and four bytes for
// each byte that it delivers.
const (
	freeMemory   = 31 << 10
	perDelivered = 3
)

// chunkMemory decides which of the Calls with chunks that a connection received gets memory next,
// and how much. Only the runner of the engine uses it.
//
//	ask ──> waiting ── first, and promised memory: begin ──> growing
//	                                                           │ ▲
//	                                                      next │ │ ask: the buffer is full
//	                                                           v │
//	             gone <── has all that it needs ── filled by RDMA Reads
//
// A header of 100 bytes can name a MiB, so memory follows the bytes that arrived (freeMemory,
// perDelivered). A Call that is longer begins in a short buffer and moves to a longer one when that
// is full. One Call at a time does so, and further ones wait until it is delivered. So memory waits
// for the peer only, never for a handler: a Call that was delivered has added more to the allowance
// than it uses.
type chunkMemory struct {
	used    int
	waiting []*engine.Request
	growing *engine.Request // does not have all of its memory yet
	asks    bool            // the growing Call waits for more
}

// ask takes a Call that needs memory, or more memory. It returns false if the Call waits because
// the connection may use no more than most bytes.
func (m *chunkMemory) ask(q *engine.Request, most int) bool {
	if q == m.growing {
		m.asks = true
		return true
	}
	m.waiting = append(m.waiting, q)
	return m.fits(q, most)
}

// wanted reports whether a Call waits for memory. Without one, next returns nil.
func (m *chunkMemory) wanted() bool { return m.asks || len(m.waiting) > 0 }

// fits reports whether a Call with chunks may begin. The only one of a connection always may.
func (m *chunkMemory) fits(q *engine.Request, most int) bool {
	return m.used == 0 || m.used+q.AssemblySize <= most
}

// first returns the Call that may begin, or nil.
func (m *chunkMemory) first(most int) *engine.Request {
	if m.growing != nil || len(m.waiting) == 0 || !m.fits(m.waiting[0], most) {
		return nil
	}
	return m.waiting[0]
}

// begin lets the Call begin that first returned.
func (m *chunkMemory) begin() {
	m.growing, m.asks = m.waiting[0], true
	m.waiting = slices.Delete(m.waiting, 0, 1)
}

// next returns the Call that gets memory now and the length of its buffer in bytes, or nil. The
// peer has delivered so many bytes.
func (m *chunkMemory) next(delivered uint64) (*engine.Request, int) {
	if !m.asks {
		return nil, 0
	}
	q := m.growing
	n := m.allowed(q, delivered)
	if n < min(q.AssemblySize, q.AssemblyFilled+freeMemory) {
		return nil, 0 // too little for a round trip: the bytes on their way will allow more
	}
	m.asks = false
	if n == q.AssemblySize {
		m.growing = nil
	}
	return q, n
}

// allowed returns the number of bytes that the growing Call may have now.
func (m *chunkMemory) allowed(q *engine.Request, delivered uint64) int {
	more := freeMemory + perDelivered*int64(delivered) - int64(m.used)
	return int(min(int64(q.AssemblySize), int64(q.AssemblyFilled)+more))
}

// refuse forgets a Call that gets an error: the growing one, or the first that waits.
func (m *chunkMemory) refuse(q *engine.Request) {
	if m.growing == q {
		m.growing = nil
	} else if len(m.waiting) > 0 && m.waiting[0] == q {
		m.waiting = slices.Delete(m.waiting, 0, 1)
	}
}

// remove forgets the Calls with these XIDs that wait, and returns them.
func (m *chunkMemory) remove(xids []uint32) (removed []*engine.Request) {
	m.waiting = slices.DeleteFunc(m.waiting, func(q *engine.Request) bool {
		if slices.Contains(xids, q.XID) {
			removed = append(removed, q)
			return true
		}
		return false
	})
	return removed
}

// end forgets all Calls, and returns those that wait for memory.
func (m *chunkMemory) end() []*engine.Request {
	left := m.waiting
	if m.asks {
		left = append(left, m.growing)
	}
	m.waiting, m.growing, m.asks = nil, nil, false
	return left
}
