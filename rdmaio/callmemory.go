package rdmaio

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// callMemory is the memory of a connection that Calls of this side offer to the peer.
type callMemory struct {
	abandoned admission.Budget // to which keys of cancelled Calls are redirected
	replies   replyMemory
	sizes     replySizes
	offers    offers
}

// replyMemory limits the memory that Calls offer for replies at a time, with devices that need it
// in place before the peer writes there (ADR 0113).
//
//	          fits, none waits
//	take ─────────────────────────────────> taken ── release ──> serve the queue
//	  └─ wait in the queue ── served ────────┘
//	         └─ ctx is done or the connection is closed ──> fail, serve the queue
type replyMemory struct {
	most int

	mu    sync.Mutex
	used  int
	queue []*replyWaiter // oldest first
}

// replyWaiter is a Call that waits for memory.
type replyWaiter struct {
	n     int
	ready chan struct{} // closed when it has the memory
}

// fits reports whether n bytes can be taken. The only Call always can. m.mu must be held.
func (m *replyMemory) fits(n int) bool { return m.used == 0 || n <= m.most-m.used }

// begin takes n bytes, or returns a waiter for them.
func (m *replyMemory) begin(n int) *replyWaiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 && m.fits(n) {
		m.used += n
		return nil
	}
	w := &replyWaiter{n, make(chan struct{})}
	m.queue = append(m.queue, w)
	return w
}

// leave removes a failed Call from the queue.
func (m *replyMemory) leave(w *replyWaiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.queue, w); i >= 0 {
		m.queue = slices.Delete(m.queue, i, i+1)
	} else {
		m.used -= w.n
	}
	m.serve()
}

// release gives n bytes back.
func (m *replyMemory) release(n int) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= n
	m.serve()
}

// serve gives memory to the Calls that wait, in their order. m.mu must be held.
func (m *replyMemory) serve() {
	for len(m.queue) > 0 && m.fits(m.queue[0].n) {
		w := m.queue[0]
		m.queue = slices.Delete(m.queue, 0, 1)
		m.used += w.n
		close(w.ready)
	}
}

// replySizes are the largest replies of procedures that came on a connection.
type replySizes struct {
	mu   sync.Mutex
	most map[procedure]int
}

// procedure identifies the procedure of a Call.
type procedure [3]uint32

// mostProcedures is the largest number of procedures that replySizes remembers.
const mostProcedures = 256

func procedureOf(call *Call) (p procedure) {
	for i := range p {
		p[i] = binary.BigEndian.Uint32(call.Inline[12+4*i:])
	}
	return p
}

// saw records the size of a reply.
func (r *replySizes) saw(call *Call) {
	p := procedureOf(call)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most == nil {
		r.most = make(map[procedure]int)
	}
	if n, ok := r.most[p]; ok || len(r.most) < mostProcedures {
		r.most[p] = max(n, len(call.Reply.Message))
	}
}

// guess returns the size of the largest reply so far, in a buffer of the pool. It is 0 before
// the first reply.
func (r *replySizes) guess(call *Call) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.most[procedureOf(call)]
	if n == 0 {
		return 0
	}
	return mrpool.Size(n)
}
