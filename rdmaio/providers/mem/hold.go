package mem

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
)

// holder makes the requests of a network wait, in the order in which they were posted.
type holder struct {
	on atomic.Bool

	mu    sync.Mutex
	order []*queuePair // an entry for each waiting request; the first one's oldest is next
}

// Hold makes posted send requests wait in their queues, as on a slow network, until Step or
// Release runs them. Tests use it to have requests outstanding while something else happens,
// and simulations to decide when data moves.
func (n *Network) Hold() { n.hold.on.Store(true) }

// Step runs the oldest waiting request. It returns false if no request waits.
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
		if len(q.waiting) == 0 { // flushed before the lock was taken
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

// Release ends Hold and runs all waiting requests. Requests that other goroutines post during
// Release join the queue or run at once; in both cases each connection's requests run in order.
// Only one goroutine at a time may call Step and Release.
func (n *Network) Release() {
	n.hold.on.Store(false)
	for n.Step() {
	}
}

// enqueue copies a request that has to wait, because of Hold or because earlier ones in its queue
// wait. It returns false if the request can run now. The caller must hold q's link.
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
