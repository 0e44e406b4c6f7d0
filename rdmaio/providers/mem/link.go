package mem

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// link is the lock of a connection. A queue pair has one of its own until it
// connects; then it takes over its peer's.
type link struct {
	number uint32 // order among links

	mu       sync.Mutex
	due      []notification // to be run when mu is free
	spare    []notification
	draining bool // a goroutine is running notifications of this link
}

// notification is a completion queue's, or else a queue pair's.
type notification struct {
	cq *completionQueue
	qp func()
}

// unlock releases the link and runs what became due while it was locked,
// unless another goroutine, or an outer call of this one, is at it already.
func (l *link) unlock() {
	if l.draining || len(l.due) == 0 {
		l.mu.Unlock()
		return
	}
	l.draining = true
	for len(l.due) > 0 {
		batch := l.due
		l.due = l.spare[:0]
		l.mu.Unlock()
		for _, n := range batch {
			if n.cq != nil {
				n.cq.fire()
			} else {
				n.qp()
			}
		}
		clear(batch)
		l.mu.Lock()
		l.spare = batch
	}
	l.draining = false
	l.mu.Unlock()
}

// lock locks the link of a queue pair, which may change while one waits for it.
func (q *queuePair) lock() *link {
	for {
		l := q.link.Load()
		l.mu.Lock()
		if q.link.Load() == l {
			return l
		}
		l.mu.Unlock()
	}
}

// lockTwo locks the links of two queue pairs that are not connected to each
// other, the lower number first.
func lockTwo(a, b *queuePair) (la, lb *link) {
	for {
		la, lb = a.link.Load(), b.link.Load()
		first, second := la, lb
		if first.number > second.number {
			first, second = second, first
		}
		first.mu.Lock()
		if second != first {
			second.mu.Lock()
		}
		if a.link.Load() == la && b.link.Load() == lb {
			return la, lb
		}
		if second != first {
			second.mu.Unlock()
		}
		first.mu.Unlock()
	}
}

// push adds a completion to a queue. The link is locked.
func (l *link) push(cq *completionQueue, e cqe, solicited bool) {
	if cq.push(e, solicited) {
		l.due = append(l.due, notification{cq: cq})
	}
}

// end takes a queue pair and, if it is connected, its peer to StateError and
// flushes both. The link is locked. The two errors say why, for each of them.
func (l *link) end(q *queuePair, own, peers error) {
	l.endOne(q, own)
	if q.peer != nil {
		l.endOne(q.peer, peers)
	}
}

func (l *link) endOne(q *queuePair, err error) {
	state := q.State()
	if state >= verbs.StateError {
		return
	}
	q.err = err
	q.state.Store(uint32(verbs.StateError))
	for i := range q.held {
		l.completeSend(q, &q.held[i], verbs.StatusFlushed, 0)
	}
	q.held = nil
	for q.rqCount > 0 {
		l.completeRecv(q, verbs.WC{Status: verbs.StatusFlushed}, false)
	}
	if state == verbs.StateConnecting {
		close(q.abort)
	}
	if q.notify != nil {
		l.due = append(l.due, notification{qp: q.notify})
	}
}

// completeSend ends a send request that has run, or never will.
func (l *link) completeSend(q *queuePair, r *request, status verbs.Status, byteLen int) {
	q.sendRoom++
	if status == verbs.StatusSuccess && r.flags&verbs.SendSignaled == 0 {
		return // its entry is freed together with that of a later signaled one
	}
	room := q.sendRoom
	q.sendRoom = 0
	l.push(q.sendCQ, cqe{
		wc:       verbs.WC{WRID: r.wrid, Status: status, Opcode: r.wcOpcode(), QPNum: q.num, ByteLen: uint32(byteLen)},
		qp:       q,
		sendRoom: room,
	}, false)
}

// completeRecv ends the oldest Receive; wc lacks what the Receive knows.
func (l *link) completeRecv(q *queuePair, wc verbs.WC, solicited bool) {
	r := &q.rq[q.rqHead]
	wc.WRID, wc.Opcode, wc.QPNum = r.wrid, verbs.WCRecv, q.num
	clear(r.sgl)
	r.sgl = r.sgl[:0]
	if q.rqHead++; q.rqHead == len(q.rq) {
		q.rqHead = 0
	}
	q.rqCount--
	l.push(q.recvCQ, cqe{wc: wc, qp: q}, solicited)
}
