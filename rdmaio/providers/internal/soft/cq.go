package soft

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// CompletionQueue implements verbs.CompletionQueue.
type CompletionQueue struct {
	dev    *Device
	notify func()

	closed atomic.Bool // written with mu held

	mu       sync.Mutex
	users    int     // send queues and receive queues that complete here
	reserved int     // entries reserved for them
	orphans  int     // completions of closed queue pairs
	size     int     // entries
	ring     []entry // memory for as many as there were at a time
	head     int
	count    int
	armed    armState
}

var _ verbs.CompletionQueue = (*CompletionQueue)(nil)

type armState uint8

const (
	disarmed armState = iota
	armedSolicited
	armedAny
)

// entry is a completion, with the entries of a work queue that become free when it is
// polled.
type entry struct {
	wc    verbs.WC
	qp    *QueuePair // nil if the queue pair is closed
	sends int32      // entries of the send queue; 0 means one of the receive queue
}

// reserve reserves n entries for a work queue, so that its completions never overflow the
// completion queue (RFC 5042 §6.4.3.2).
func (cq *CompletionQueue) reserve(n int) error {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	if cq.closed.Load() {
		return fmt.Errorf("completion queue: %w", verbs.ErrClosed)
	}
	if left := cq.size - cq.reserved - cq.orphans; n > left {
		return fmt.Errorf("completion queue of %d entries has %d that are not reserved, the queue pair needs %d: %w", cq.size, left, n, verbs.ErrQueueFull)
	}
	cq.reserved += n
	cq.users++
	return nil
}

// unreserve releases n entries that q has reserved. Completions of q that are still in the
// queue keep theirs.
func (cq *CompletionQueue) unreserve(q *QueuePair, n int) {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	cq.reserved -= n
	cq.users--
	for i := range cq.count {
		if e := &cq.ring[(cq.head+i)%len(cq.ring)]; e.qp == q {
			e.qp = nil
			cq.orphans++
		}
	}
}

// push adds a completion and reports whether the caller must notify. The reservation of its
// queue pair guarantees a free entry.
func (cq *CompletionQueue) push(e entry, solicited bool) bool {
	cq.mu.Lock()
	if cq.count == len(cq.ring) {
		cq.grow()
	}
	i := cq.head + cq.count
	if i >= len(cq.ring) {
		i -= len(cq.ring)
	}
	cq.ring[i] = e
	cq.count++
	wakes := cq.armed == armedAny || cq.armed == armedSolicited && (solicited || e.wc.Status != verbs.StatusSuccess)
	if wakes {
		cq.armed = disarmed
	}
	cq.mu.Unlock()
	return wakes && cq.notify != nil
}

// grow doubles the memory. cq.mu must be held.
func (cq *CompletionQueue) grow() {
	ring := make([]entry, min(cq.size, max(4, 2*len(cq.ring))))
	n := copy(ring, cq.ring[cq.head:])
	copy(ring[n:], cq.ring[:cq.head])
	cq.ring, cq.head = ring, 0
}

// fire calls notify, unless the queue was closed in the meantime.
func (cq *CompletionQueue) fire() {
	if !cq.closed.Load() {
		cq.notify()
	}
}

// Poll implements verbs.CompletionQueue.
func (cq *CompletionQueue) Poll(wcs []verbs.WC) (int, error) {
	cq.mu.Lock()
	if cq.closed.Load() {
		cq.mu.Unlock()
		return 0, fmt.Errorf("%s: poll: completion queue: %w", cq.dev.provider, verbs.ErrClosed)
	}
	n := min(len(wcs), cq.count)
	for i := range n {
		e := &cq.ring[cq.head]
		wcs[i] = e.wc
		switch {
		case e.qp == nil:
			cq.orphans--
		case e.sends > 0:
			e.qp.SendUsed.Add(-e.sends)
		default:
			e.qp.RecvUsed.Add(-1)
		}
		e.qp, e.wc.Loan = nil, nil
		if cq.head++; cq.head == len(cq.ring) {
			cq.head = 0
		}
	}
	cq.count -= n
	cq.mu.Unlock()
	return n, nil
}

// Arm implements verbs.CompletionQueue.
func (cq *CompletionQueue) Arm(solicitedOnly bool) error {
	cq.mu.Lock()
	closed := cq.closed.Load()
	switch {
	case closed:
	case !solicitedOnly:
		cq.armed = armedAny
	case cq.armed == disarmed:
		cq.armed = armedSolicited
	}
	cq.mu.Unlock()
	if closed {
		return fmt.Errorf("%s: arm: completion queue: %w", cq.dev.provider, verbs.ErrClosed)
	}
	return nil
}

// Cap implements verbs.CompletionQueue.
func (cq *CompletionQueue) Cap() int { return cq.size }

// Close implements verbs.CompletionQueue.
func (cq *CompletionQueue) Close() error {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	if cq.closed.Load() {
		return nil
	}
	if cq.users > 0 {
		return fmt.Errorf("%s: close completion queue: %d send and receive queues use it; close their queue pairs first: %w", cq.dev.provider, cq.users, verbs.ErrBusy)
	}
	cq.closed.Store(true)
	cq.dev.cqs.Add(-1)
	cq.dev.ledger.remove(cq)
	return nil
}
