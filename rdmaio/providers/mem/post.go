package mem

import (
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// PostSend implements verbs.QueuePair.
func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	l := q.lock()
	n, err := q.postSend(l, wrs)
	l.UnlockNotify()
	return n, err
}

func (q *queuePair) postSend(l *link, wrs []verbs.SendWR) (int, error) {
	if s := q.State(); s != verbs.StateConnected {
		return 0, fmt.Errorf("mem: queue pair %d: post send in state %v: %w", q.Num(), s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		r := soft.Request{SGL: q.scratch}
		if err := q.CheckSend(&r, wrs, i, math.MaxUint32, q.depth); err != nil {
			return i, err
		}
		q.SendUsed.Add(1)
		switch {
		case q.State() != verbs.StateConnected: // an earlier one of this batch broke it
			q.CompleteSend(&l.Mutex, &r, verbs.StatusFlushed)
		case !q.dev.net.hold.enqueue(q, &r):
			l.execute(q, &r)
		}
	}
	return len(wrs), nil
}

// PostRecv implements verbs.QueuePair.
func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	l := q.lock()
	n, err := q.postRecv(wrs)
	l.UnlockNotify()
	return n, err
}

func (q *queuePair) postRecv(wrs []verbs.RecvWR) (int, error) {
	if s := q.State(); s > verbs.StateConnected {
		return 0, fmt.Errorf("mem: queue pair %d: post receive in state %v: %w", q.Num(), s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		tail := q.rqHead + q.rqCount
		if tail >= len(q.rq) {
			tail -= len(q.rq)
		}
		r := &q.rq[tail]
		sgl, total, err := q.CheckRecv(r.sgl, wrs, i)
		if err != nil {
			return i, err
		}
		r.wrid, r.total, r.sgl = wrs[i].WRID, total, sgl
		q.rqCount++
		q.RecvUsed.Add(1)
	}
	return len(wrs), nil
}
