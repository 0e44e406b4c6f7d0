package fault

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// completionQueue wraps a verbs.CompletionQueue. It holds the completions that a fault has
// delayed or withheld.
type completionQueue struct {
	verbs.CompletionQueue
	dev    *device
	notify func()

	mu       sync.Mutex
	qps      map[uint32]*queuePair
	deferred []deferred // in order; ready after the delay, or when the connection is closed
	ready    []verbs.WC // polled before the provider's
	state    map[queue]*queueState
	idle     int  // polls since a completion was delayed
	armed    bool // armed and not notified since: completions polled now are not delayed

	timers map[*time.Timer]struct{} // delayed notifications
	closed bool
}

// queue is the send queue or receive queue of a queue pair.
type queue struct {
	qp   *queuePair
	side int
}

// queueState is the state of a queue after faults.
type queueState struct {
	delayed bool // completions are deferred until Arm
	lost    bool // completions beyond after come as flushed, when the connection is closed
	failed  bool // completions come as flushed
	ended   bool // the connection is closed

	posted uint64 // signaled requests, or Receives, that the provider has accepted
	done   uint64 // successful completions of the provider
	after  uint64
}

// loses reports whether the completion just counted is lost.
func (s *queueState) loses() bool { return s.lost && s.done > s.after }

// deferred is a completion to report later.
type deferred struct {
	q     queue
	place uint64 // twice the number of the completion, plus 1 if it stalls before the next
	wc    verbs.WC
}

func (c *completionQueue) add(q *queuePair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.qps[q.Num()] = q
}

// forget removes a closed queue pair, unless its later completions must be changed because of
// earlier ones.
func (c *completionQueue) forget(q *queuePair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, side := range [...]int{sendSide, recvSide} {
		if s := c.state[queue{q, side}]; s != nil && (s.lost || s.failed) {
			return
		}
	}
	delete(c.qps, q.Num())
	delete(c.state, queue{q, sendSide})
	delete(c.state, queue{q, recvSide})
}

func (c *completionQueue) stateOf(q queue) *queueState {
	s := c.state[q]
	if s == nil {
		s = new(queueState)
		c.state[q] = s
	}
	return s
}

func (c *completionQueue) Poll(wcs []verbs.WC) (int, error) {
	c.dev.maybeRemove()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.deferred) > 0 && c.idle >= c.dev.inj.cfg.DelayPolls {
		c.releaseDelayed()
	}
	n := copy(wcs, c.ready)
	c.ready = c.ready[n:]
	for n < len(wcs) {
		room := wcs[n:]
		k, err := c.CompletionQueue.Poll(room)
		if err != nil {
			return n, err
		}
		// The rest goes to ready, which is empty so far and comes first in the next Poll.
		passed := 0
		for _, wc := range room[:k] {
			for _, wc := range c.filter(wc) {
				if passed < len(room) {
					room[passed] = wc
					passed++
				} else {
					c.ready = append(c.ready, wc)
				}
			}
		}
		n += passed
		if k < len(room) {
			break
		}
	}
	if len(c.deferred) > 0 {
		c.idle++
	}
	return n, nil
}

// filter returns the completions to report for one of the provider: none, itself, or itself
// with deferred ones.
func (c *completionQueue) filter(wc verbs.WC) []verbs.WC {
	qp := c.qps[wc.QPNum]
	if qp == nil {
		return []verbs.WC{wc}
	}
	q := queue{qp, sendSide}
	if wc.Status == verbs.StatusSuccess && wc.Opcode == verbs.WCRecv {
		q.side = recvSide
	}
	c.manner(q, &wc)
	if wc.Status != verbs.StatusSuccess { // the end: of both queues, as wc does not say which one
		return append(c.collect(qp, true), wc)
	}
	s := c.stateOf(q)
	flushed := verbs.WC{WRID: wc.WRID, QPNum: wc.QPNum, Status: verbs.StatusFlushed}
	s.done++
	hold := func(wc verbs.WC) []verbs.WC {
		c.deferred = append(c.deferred, deferred{q, 2 * s.done, wc})
		return nil
	}
	switch {
	case s.failed, s.loses() && s.ended:
		return []verbs.WC{flushed}
	case s.loses():
		return hold(flushed)
	case s.delayed:
		return hold(wc)
	case s.ended:
		return append([]verbs.WC{wc}, c.collect(qp, false)...)
	}
	if c.dev.inj.has(SendsBeforeReads) && q.side == sendSide {
		return c.reorder(q, wc)
	}
	if f, fires := c.dev.inj.occasion(FailCompletion); fires {
		s.failed = true
		qp.breakConn(f.error())
		flushed.Status = f.status()
		return []verbs.WC{flushed}
	}
	if _, fires := c.dev.inj.occasion(LoseCompletion); fires {
		s.lost, s.after = true, s.done-1
		return hold(flushed)
	}
	if c.armed {
		return []verbs.WC{wc}
	}
	if _, fires := c.dev.inj.occasion(DelayCompletion); fires {
		s.delayed = true
		c.idle = 0
		return hold(wc)
	}
	return []verbs.WC{wc}
}

// collect removes the deferred completions of a queue pair whose connection is closed, and returns
// them in order. Completions that stall after requests that have not completed stay, unless all are
// flushed.
func (c *completionQueue) collect(qp *queuePair, all bool) []verbs.WC {
	var out, rest []deferred
	for _, h := range c.deferred {
		if s := c.stateOf(h.q); h.q.qp == qp && (all || !s.lost || s.done >= s.after) {
			out = append(out, h)
		} else {
			rest = append(rest, h)
		}
	}
	c.deferred = rest
	for _, side := range [...]int{sendSide, recvSide} {
		s := c.stateOf(queue{qp, side})
		s.delayed, s.ended = false, true
	}
	slices.SortStableFunc(out, func(a, b deferred) int { return cmp.Compare(a.place, b.place) })
	wcs := make([]verbs.WC, len(out))
	for i, h := range out {
		wcs[i] = h.wc
	}
	return wcs
}

// releaseDelayed makes delayed completions ready.
func (c *completionQueue) releaseDelayed() {
	rest := c.deferred[:0]
	for _, h := range c.deferred {
		if h.wc.Status == verbs.StatusSuccess { // flushed ones wait for the end
			c.ready = append(c.ready, h.wc)
		} else {
			rest = append(rest, h)
		}
	}
	c.deferred = rest
	for _, s := range c.state {
		s.delayed = false
	}
}

// releaseEnded makes the deferred completions of qp ready. Its connection is closed.
func (c *completionQueue) releaseEnded(qp *queuePair) {
	c.mu.Lock()
	out := c.collect(qp, false)
	c.ready = append(c.ready, out...)
	c.mu.Unlock()
	if len(out) > 0 {
		c.wake()
	}
}

// posted counts signaled requests or Receives that the provider has accepted.
func (c *completionQueue) posted(q queue, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stateOf(q).posted += n
}

// stall defers the completion of a request that is withheld from the provider: a Read, a
// request fenced behind one, or a Receive.
func (c *completionQueue) stall(q queue, id uint64) {
	qp := q.qp
	c.mu.Lock()
	s := c.stateOf(q)
	if !s.lost {
		s.lost, s.after = true, s.posted
	}
	c.deferred = append(c.deferred, deferred{q, 2*s.posted + 1, verbs.WC{WRID: id, QPNum: qp.Num(), Status: verbs.StatusFlushed}})
	ended := s.ended
	c.mu.Unlock()
	if ended {
		c.releaseEnded(qp)
	}
}

// Arm arms the queue, then makes delayed completions ready.
func (c *completionQueue) Arm(solicitedOnly bool) error {
	c.dev.maybeRemove()
	if solicitedOnly && c.dev.inj.has(LostSolicited) {
		c.dev.inj.happened(LostSolicited)
		_, err := c.CompletionQueue.Poll(nil) // a closed one
		return err
	}
	c.mu.Lock()
	c.armed = true
	c.mu.Unlock()
	if err := c.CompletionQueue.Arm(solicitedOnly); err != nil {
		return err
	}
	c.mu.Lock()
	before := len(c.ready)
	c.releaseDelayed()
	came := len(c.ready) > before
	c.mu.Unlock()
	if came {
		c.wake()
	}
	return nil
}
