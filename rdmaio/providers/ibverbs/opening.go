package ibverbs

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// opening makes the first message of an initiator over iWARP arrive. Linux's siw answers the
// connection request before it listens for messages: a message that arrives in between stays unread
// until more bytes come. So an initiator that has sent something, and has not heard from the peer,
// sends Writes of no bytes (nudges), which have no effect on any peer. The queue pair's lock guards
// it.
//
//	silent ── first message ──> waiting ── nothing heard: nudge ──> waiting ──> ... ──> over
//	   │                           └──── a sign of the peer: a last nudge ──────────────┤
//	   └─────────────────────────────── a sign of the peer ─────────────────────────────┘
//
// Each wait is twice as long as the one before.
type opening struct {
	wait  time.Duration // until the next nudge; 0 means that the opening is over
	timer *time.Timer   // nil before the first request, at an acceptor, and over InfiniBand
}

const (
	firstNudge = 5 * time.Millisecond
	lastNudge  = 2 * time.Second // the longest wait before a nudge
)

// start begins the opening of an initiator. The caller holds the queue pair's lock.
func (o *opening) start() { o.wait = firstNudge }

// sent starts the nudges when the caller's first request is posted: before it there is nothing that
// could be unread. The caller holds the queue pair's lock.
func (o *opening) sent(q *queuePair) {
	if o.wait > 0 && o.timer == nil {
		o.timer = time.AfterFunc(o.wait, q.nudge)
	}
}

// heard completes the opening at a sign of the peer, which listens by now. A message that was sent
// before may still be unread, so a last nudge follows it. The caller holds the queue pair's lock.
func (o *opening) heard() {
	switch {
	case o.wait == 0 || o.wait == lastNudge:
	case o.timer == nil:
		o.wait = 0
	default:
		o.wait = lastNudge
		o.timer.Reset(0)
	}
}

// stop stops the opening and its nudges. The caller holds the queue pair's lock.
func (o *opening) stop() {
	o.wait = 0
	if o.timer != nil {
		o.timer.Stop()
	}
}

// nudge sends a nudge if the opening is not over.
func (q *queuePair) nudge() {
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	q.poll()
	if q.opening.wait == 0 {
		return
	}
	q.ping(verbs.RDMAWrite)
	if q.opening.wait *= 2; q.opening.wait > lastNudge {
		q.opening.stop()
		return
	}
	q.opening.timer.Reset(q.opening.wait)
}
