package stream

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// PostSend implements verbs.QueuePair.
func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	var extra []Extra
	if attach := q.dev.cfg.Attach; attach != nil {
		extra = attach(q.Num(), wrs)
	}
	q.mu.Lock()
	n, err := q.postSend(wrs, extra)
	if n > 0 {
		q.sender.posted()
	}
	q.mu.UnlockNotify()
	return n, err
}

func (q *queuePair) postSend(wrs []verbs.SendWR, extra []Extra) (int, error) {
	if s := q.State(); s != verbs.StateConnected || q.ending {
		return 0, fmt.Errorf("%s: queue pair %d: post send in state %v: %w", q.dev.cfg.Provider, q.Num(), s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		r := q.sq.next()
		*r = Request{Request: soft.Request{SGL: r.SGL}}
		if err := q.CheckSend(&r.Request, wrs, i, q.maxSend, q.depth); err != nil {
			return i, err
		}
		if extra != nil && extra[i] != nil {
			r.Extra = extra[i]
			if err := r.Extra.Check(); err != nil {
				return i, q.SendError(wrs, i, err)
			}
		}
		q.sq.push()
		if r.Opcode == verbs.RDMARead {
			q.reader.turn.resume() // its response comes soon
		}
		q.SendUsed.Add(1)
	}
	return len(wrs), nil
}

// PostRecv implements verbs.QueuePair.
func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	q.mu.Lock()
	n, err := q.postRecv(wrs)
	if n > 0 {
		q.wake()
	}
	q.mu.UnlockNotify()
	return n, err
}

func (q *queuePair) postRecv(wrs []verbs.RecvWR) (int, error) {
	if s := q.State(); s > verbs.StateConnected || q.ending {
		return 0, fmt.Errorf("%s: queue pair %d: post receive in state %v: %w", q.dev.cfg.Provider, q.Num(), s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		r := q.rq.next()
		list, total, err := q.CheckRecv(r.list(), wrs, i)
		if err != nil {
			return i, err
		}
		r.wrid, r.total = wrs[i].WRID, uint32(total)
		if wrs[i].Lend > 0 {
			r.sgl = nil
		} else {
			r.keep(list)
		}
		q.rq.push()
		q.RecvUsed.Add(1)
	}
	return len(wrs), nil
}
