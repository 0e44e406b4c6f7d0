package rdmatcp

import (
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// completionQueue implements verbs.CompletionQueue.
type completionQueue struct {
	dev    *Device
	notify func()

	mu       sync.Mutex
	closed   bool
	users    int // queue pairs, each counted for every queue role
	reserved int // entries promised to them
	orphans  int // completions of closed queue pairs
	ring     []cqe
	head     int
	count    int
	armed    armState
}

type armState uint8

const (
	disarmed armState = iota
	armedSolicited
	armedAny
)

// cqe is a completion and what polling it gives back.
type cqe struct {
	wc       verbs.WC
	qp       *queuePair
	sendRoom int32 // entries of the send queue it frees; 0: one of the receive queue
}

// reserve takes entries for a queue pair, so that its completions always have room.
func (cq *completionQueue) reserve(n int) error {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	if cq.closed {
		return fmt.Errorf("rdmatcp: completion queue: %w", verbs.ErrClosed)
	}
	if left := len(cq.ring) - cq.reserved - cq.orphans; n > left {
		return fmt.Errorf("rdmatcp: completion queue of %d entries has %d unreserved, queue pair needs %d: %w", len(cq.ring), left, n, verbs.ErrQueueFull)
	}
	cq.reserved += n
	cq.users++
	return nil
}

// release takes a reservation back; completions left behind by q count on their
// own.
func (cq *completionQueue) release(q *queuePair, n int) {
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

// push adds a completion and reports whether notify is due. The reservation
// of its queue pair makes sure that there is room.
func (cq *completionQueue) push(e cqe, solicited bool) bool {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	i := cq.head + cq.count
	if i >= len(cq.ring) {
		i -= len(cq.ring)
	}
	cq.ring[i] = e
	cq.count++
	if cq.armed == disarmed || cq.armed == armedSolicited && !solicited && e.wc.Status == verbs.StatusSuccess {
		return false
	}
	cq.armed = disarmed
	return cq.notify != nil
}

// fire runs the notification, unless the queue was closed since it became due.
func (cq *completionQueue) fire() {
	cq.mu.Lock()
	closed := cq.closed
	cq.mu.Unlock()
	if !closed {
		cq.notify()
	}
}

// Poll implements verbs.CompletionQueue.
func (cq *completionQueue) Poll(wcs []verbs.WC) (int, error) {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	if cq.closed {
		return 0, fmt.Errorf("rdmatcp: poll: completion queue: %w", verbs.ErrClosed)
	}
	n := min(len(wcs), cq.count)
	for i := range n {
		e := &cq.ring[cq.head]
		wcs[i] = e.wc
		switch {
		case e.qp == nil:
			cq.orphans--
		case e.sendRoom > 0:
			e.qp.sqUsed.Add(-e.sendRoom)
		default:
			e.qp.rqUsed.Add(-1)
		}
		e.qp = nil
		if cq.head++; cq.head == len(cq.ring) {
			cq.head = 0
		}
	}
	cq.count -= n
	return n, nil
}

// Arm implements verbs.CompletionQueue.
func (cq *completionQueue) Arm(solicitedOnly bool) error {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	switch {
	case cq.closed:
		return fmt.Errorf("rdmatcp: arm: completion queue: %w", verbs.ErrClosed)
	case !solicitedOnly:
		cq.armed = armedAny
	case cq.armed == disarmed:
		cq.armed = armedSolicited
	}
	return nil
}

// Cap implements verbs.CompletionQueue.
func (cq *completionQueue) Cap() int { return len(cq.ring) }

// Close implements verbs.CompletionQueue.
func (cq *completionQueue) Close() error {
	cq.mu.Lock()
	defer cq.mu.Unlock()
	if cq.closed {
		return nil
	}
	if cq.users > 0 {
		return fmt.Errorf("rdmatcp: close completion queue: %d queues of queue pairs use it: %w", cq.users, verbs.ErrBusy)
	}
	cq.closed = true
	cq.dev.cqs.Add(-1)
	return nil
}
