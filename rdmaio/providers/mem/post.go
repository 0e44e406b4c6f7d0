package mem

import (
	"fmt"

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
		if int(q.SendUsed.Load()) >= q.Cfg.MaxSendWR {
			return i, fmt.Errorf("mem: queue pair %d: request %d of %d: all %d entries of the send queue are in use: %w",
				q.Num(), i, len(wrs), q.Cfg.MaxSendWR, verbs.ErrQueueFull)
		}
		var r request
		if err := q.checkSend(&wrs[i], &r); err != nil {
			return i, fmt.Errorf("mem: queue pair %d: request %d of %d (%v, id %#x): %w", q.Num(), i, len(wrs), wrs[i].Opcode, wrs[i].WRID, err)
		}
		q.SendUsed.Add(1)
		switch {
		case q.State() != verbs.StateConnected: // an earlier one of this batch broke it
			l.completeSend(q, &r, verbs.StatusFlushed, 0)
		case !q.dev.net.hold.enqueue(q, &r):
			l.execute(q, &r)
		}
	}
	return len(wrs), nil
}

// checkSend refuses what can be refused now and fills in r, whose list is
// q.scratch.
func (q *queuePair) checkSend(wr *verbs.SendWR, r *request) error {
	*r = request{
		wrid: wr.WRID, opcode: wr.Opcode, flags: wr.Flags, rkey: wr.RKey, invalidate: wr.InvalidateRKey, addr: wr.RemoteAddr,
		sgl: q.scratch[:0],
	}
	limit, need := q.Cfg.MaxSendSGE, verbs.Access(0)
	switch wr.Opcode {
	case verbs.SendWithInvalidate:
		if !q.dev.attrs.RemoteInvalidate {
			return fmt.Errorf("the device does not invalidate remotely: %w", verbs.ErrNotSupported)
		}
	case verbs.Send, verbs.RDMAWrite:
	case verbs.RDMARead:
		limit, need = min(limit, q.dev.attrs.MaxReadSGE), verbs.AccessLocalWrite
		if q.depth == 0 {
			return fmt.Errorf("the connection was set up without Reads (initiator depth 0): %w", verbs.ErrNotSupported)
		}
	case verbs.LocalInvalidate:
		return nil // has no list
	default:
		return fmt.Errorf("unknown opcode: %w", verbs.ErrInvalidWR)
	}
	var err error
	r.sgl, r.total, err = q.PD.Check(r.sgl, wr.SGL, limit, int(q.dev.attrs.MaxMessageSize), need)
	return err
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
		if int(q.RecvUsed.Load()) >= q.Cfg.MaxRecvWR {
			return i, fmt.Errorf("mem: queue pair %d: receive %d of %d: all %d entries of the receive queue are in use: %w",
				q.Num(), i, len(wrs), q.Cfg.MaxRecvWR, verbs.ErrQueueFull)
		}
		tail := q.rqHead + q.rqCount
		if tail >= len(q.rq) {
			tail -= len(q.rq)
		}
		r := &q.rq[tail]
		sgl, total, err := q.PD.Check(r.sgl[:0], wrs[i].SGL, q.Cfg.MaxRecvSGE, int(q.dev.attrs.MaxMessageSize), verbs.AccessLocalWrite)
		if err != nil {
			return i, fmt.Errorf("mem: queue pair %d: receive %d of %d (id %#x): %w", q.Num(), i, len(wrs), wrs[i].WRID, err)
		}
		r.wrid, r.total, r.sgl = wrs[i].WRID, total, sgl
		q.rqCount++
		q.RecvUsed.Add(1)
	}
	return len(wrs), nil
}
