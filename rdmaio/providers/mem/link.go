package mem

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// link is the lock of a connection. A queue pair has its own link until Accept connects it, and
// then shares its peer's.
type link struct {
	soft.Mutex
	number uint32 // two links are locked in the order of their numbers
}

// lock locks and returns the link of a queue pair, which may change while lock waits.
func (q *queuePair) lock() *link {
	for {
		l := q.link.Load()
		l.Lock()
		if q.link.Load() == l {
			return l
		}
		l.Unlock()
	}
}

// lockTwo locks and returns the links of two queue pairs that are not connected to each
// other, the lower number first.
func lockTwo(a, b *queuePair) (la, lb *link) {
	for {
		la, lb = a.link.Load(), b.link.Load()
		first, second := la, lb
		if first.number > second.number {
			first, second = second, first
		}
		first.Lock()
		if second != first {
			second.Lock()
		}
		if a.link.Load() == la && b.link.Load() == lb {
			return la, lb
		}
		if second != first {
			second.Unlock()
		}
		first.Unlock()
	}
}

// end moves a queue pair and its peer, if it is connected, to StateError and flushes both.
// own and peers are their errors. The caller must hold the link.
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
	q.SetState(verbs.StateError)
	for i := range q.waiting {
		q.CompleteSend(&l.Mutex, &q.waiting[i], verbs.StatusFlushed)
	}
	q.waiting = nil
	for q.rqCount > 0 {
		l.completeRecv(q, verbs.WC{Status: verbs.StatusFlushed}, false)
	}
	if state == verbs.StateConnecting {
		close(q.abort)
	}
	l.Notify(q.Cfg.Notify)
}

// completeRecv completes the oldest Receive. wc has the fields that depend on the message.
func (l *link) completeRecv(q *queuePair, wc verbs.WC, solicited bool) {
	r := &q.rq[q.rqHead]
	q.CompleteRecv(&l.Mutex, r.wrid, wc, solicited)
	clear(r.sgl)
	r.sgl = r.sgl[:0]
	if q.rqHead++; q.rqHead == len(q.rq) {
		q.rqHead = 0
	}
	q.rqCount--
}
