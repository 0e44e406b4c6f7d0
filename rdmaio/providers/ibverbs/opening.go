package ibverbs

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// opening makes the first message of an initiator over iWARP arrive. Linux's siw answers the
// connection request before it listens for messages: what reaches it in between lies unread until
// more bytes come. So an initiator that has sent something, and has not heard of the peer, sends
// Writes of no bytes (nudges), which have no effect on any peer. The queue pair's lock guards it.
//
//	start ──> waiting ── nothing heard: nudge, wait twice as long ──> waiting ──> ... ──> over
//	             └──────────────────── a sign of the peer ────────────────────────────────┘
type opening struct {
	wait  time.Duration // until the next nudge; 0 means that the opening is over
	timer *time.Timer   // nil at an acceptor, and over InfiniBand
}

const (
	firstNudge = 5 * time.Millisecond
	lastNudge  = 2 * time.Second // the longest wait before a nudge
)

// start begins the opening of an initiator. The queue pair's lock is held.
func (o *opening) start(q *queuePair) {
	o.wait = firstNudge
	o.timer = time.AfterFunc(o.wait, q.nudge)
}

// stop ends the opening. The queue pair's lock is held.
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
	if q.sq.tail > 0 { // else there is nothing that could be unread
		q.ping(verbs.RDMAWrite, abi.OpWrite)
	}
	if q.opening.wait *= 2; q.opening.wait > lastNudge {
		q.opening.stop()
		return
	}
	q.opening.timer.Reset(q.opening.wait)
}
