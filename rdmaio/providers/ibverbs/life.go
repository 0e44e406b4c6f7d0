package ibverbs

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// life watches whether the peer is there. The queue pair's lock guards it.
//
//	heard ── nothing for half of the limit: ping ──> asked ── nothing until the limit ──> end
//	  └──────────── a message or an acknowledgment <──┘
type life struct {
	qp    *queuePair
	limit time.Duration // Config.PeerTimeout
	heard time.Time     // of the last sign of the peer
	timer *time.Timer   // nil before the connection, and if there is no limit
}

// start begins to watch. The queue pair's lock is held.
func (l *life) start(q *queuePair) {
	l.heard = time.Now()
	if l.limit = q.dev.cfg.PeerTimeout; l.limit > 0 {
		l.timer = time.AfterFunc(l.limit/2, q.life.checkPeer)
	}
}

// stop ends the watch. The queue pair's lock is held.
func (l *life) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// checkPeer ends the queue pair if there was no sign of the peer within the limit, and pings the
// peer after half of it.
func (l *life) checkPeer() {
	q := l.qp
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	q.poll()
	if q.end.begun {
		return
	}
	quiet := time.Since(l.heard)
	switch {
	case quiet >= l.limit:
		q.begin(fmt.Errorf("ibverbs: queue pair %d: no sign of the peer for %v: %w: %w", q.Num(), quiet.Round(time.Millisecond),
			verbs.StatusError{Status: verbs.StatusRetryExceeded}, verbs.ErrConnectionBroken), causeKnown)
	case quiet >= l.limit/2:
		q.life.ping()
		l.timer.Reset(l.limit - quiet)
	default:
		l.timer.Reset(l.limit/2 - quiet)
	}
}

// ping posts a request that the peer's device answers without the peer's program: a Write of no
// bytes, or over iWARP, where that is complete at once, a Read of no bytes. Neither needs a key. A
// peer that has no Reads over iWARP is not pinged: TCP finds out about it when there is something
// to send. q.mu is held.
func (l *life) ping() {
	q := l.qp
	op, wire := verbs.RDMAWrite, abi.OpWrite
	if q.dev.transport == abi.TransportIWARP {
		op, wire = verbs.RDMARead, abi.OpRead
		if q.depth == 0 {
			q.life.heard = time.Now()
			return
		}
	}
	q.ping(op, wire)
}

// ping posts a request of no bytes, unless one is outstanding. q.mu is held.
func (q *queuePair) ping(op verbs.Opcode, wire abi.Opcode) {
	if q.sq.barred || q.life.pinging() {
		return
	}
	seq := q.sq.push()
	e := q.sq.at(seq)
	*e = request{kind: kindPing, signaled: true, sgl: e.sgl[:0]}
	e.Opcode = op
	if err := q.post(seq, abi.SendWR{Opcode: wire}); err != nil {
		q.beginBy(verbs.StatusFatal, "post a "+e.describe())
	}
}

// pinging reports whether a ping is outstanding. q.mu is held.
func (l *life) pinging() bool {
	q := l.qp
	for i := q.sq.head; i < q.sq.tail; i++ {
		if q.sq.at(i).kind == kindPing {
			return true
		}
	}
	return false
}
