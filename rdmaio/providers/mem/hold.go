package mem

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
)

// holder keeps requests back, network wide, in the order posted.
type holder struct {
	on atomic.Bool

	mu    sync.Mutex
	order []*queuePair // whose oldest held request is next
}

// Hold makes posted send requests wait in their queues, as they do on a slow
// network, until Step or Release lets them run. It is how a test sees requests
// outstanding, flushed and overtaken by events, and how a simulation decides
// when something moves.
func (n *Network) Hold() { n.hold.on.Store(true) }

// Step runs the oldest request that waits and reports whether there was one.
func (n *Network) Step() bool {
	for {
		n.hold.mu.Lock()
		if len(n.hold.order) == 0 {
			n.hold.mu.Unlock()
			return false
		}
		q := n.hold.order[0]
		n.hold.order = n.hold.order[1:]
		n.hold.mu.Unlock()

		l := q.lock()
		if len(q.waiting) == 0 { // flushed in the meantime
			l.UnlockNotify()
			continue
		}
		r := q.waiting[0]
		q.waiting = q.waiting[1:]
		l.execute(q, &r)
		l.UnlockNotify()
		return true
	}
}

// Release ends Hold and runs all that waits. Posts made meanwhile by others join
// behind or run at once; on one connection order is kept either way. Step and
// Release are for one goroutine at a time.
func (n *Network) Release() {
	n.hold.on.Store(false)
	for n.Step() {
	}
}

// enqueue takes a request over if it has to wait: behind the network's hold, or behind
// others of its queue that still do. The link of q is locked.
func (h *holder) enqueue(q *queuePair, r *soft.Request) bool {
	if !h.on.Load() && len(q.waiting) == 0 {
		return false
	}
	own := *r
	own.SGL = slices.Clone(r.SGL)
	q.waiting = append(q.waiting, own)
	h.mu.Lock()
	h.order = append(h.order, q)
	h.mu.Unlock()
	return true
}
