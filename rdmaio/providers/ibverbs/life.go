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
//
// The peer's device or kernel answers a ping without its program. A ping is,
//
//   - over InfiniBand and RoCE a Write of no bytes. It completes when the peer's device has
//     acknowledged it.
//   - over iWARP a Read of no bytes, since a Write is complete when this device has sent it. A peer
//     that has no Reads is not pinged: TCP finds out about it when there is something to send.
//   - over the TCP connection of a kernel (siw) a Write of no bytes. siw answers Reads of no bytes
//     wrongly at times, and its kernel can be asked when TCP was acknowledged.
//
// No kind of ping needs a key.
type life struct {
	qp    *queuePair
	limit time.Duration // Config.PeerTimeout
	heard time.Time     // when the peer last gave a sign
	timer *time.Timer   // nil before the connection, and if there is no limit

	path path // of the connection
	deaf bool // the kernel cannot be asked about its TCP connection
}

// start begins to watch. The caller holds the queue pair's lock.
func (l *life) start(q *queuePair) {
	l.heard = time.Now()
	if l.limit = q.dev.cfg.PeerTimeout; l.limit > 0 {
		l.timer = time.AfterFunc(l.limit/2, q.life.checkPeer)
	}
}

// stop stops the watch. The caller holds the queue pair's lock.
func (l *life) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// checkPeer closes the connection if there was no sign of the peer within the limit, and pings the
// peer after half of it.
func (l *life) checkPeer() {
	q := l.qp
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	q.poll()
	if q.end.begun {
		return
	}
	if q.dev.quirks.KernelTCP {
		l.ask()
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

// ask takes over what the kernel has heard of the peer on its TCP connection. The caller holds
// q.mu.
func (l *life) ask() {
	s, err := l.qp.dev.tcp(l.path.local, l.path.remote)
	switch {
	case err == nil:
		if at := time.Now().Add(-s.Heard); at.After(l.heard) {
			l.heard = at
		}
		return
	case !l.deaf:
		l.deaf = true
		l.qp.dev.cfg.Logger.Warn("ibverbs: a peer that is gone may not be noticed: the kernel does not report on its TCP connection (module tcp_diag)",
			"device", l.qp.dev.attrs.Name, "qp", l.qp.Num(), "err", err)
	}
	l.heard = time.Now()
}

// ping asks the peer's device for a sign. The caller holds q.mu.
func (l *life) ping() {
	q := l.qp
	switch {
	case q.dev.transport == abi.TransportIB, q.dev.quirks.KernelTCP:
		q.ping(verbs.RDMAWrite)
	case q.depth > 0:
		q.ping(verbs.RDMARead)
	default:
		l.heard = time.Now()
	}
}

// ping posts a request of no bytes, unless one is outstanding. The caller holds q.mu.
func (q *queuePair) ping(op verbs.Opcode) {
	if q.sq.barred || q.life.pinging() {
		return
	}
	seq := q.sq.push()
	e := q.sq.at(seq)
	*e = request{kind: kindPing, signaled: true, sgl: e.sgl[:0]}
	e.Opcode = op
	if err := q.post(seq, e.wire(q.dev)); err != nil {
		q.end.callFailed("post a "+e.describe(), err)
	}
}

// pinging reports whether a ping is outstanding. The caller holds q.mu.
func (l *life) pinging() bool {
	q := l.qp
	for i := q.sq.head; i < q.sq.tail; i++ {
		if q.sq.at(i).kind == kindPing {
			return true
		}
	}
	return false
}
