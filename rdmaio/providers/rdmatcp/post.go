package rdmatcp

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// PostSend implements verbs.QueuePair.
func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	control := q.requestControl(wrs)
	q.mu.Lock()
	n, err := q.postSend(wrs, control)
	if n > 0 {
		q.posts++
		q.kick()
	}
	q.mu.UnlockNotify()
	return n, err
}

func (q *queuePair) postSend(wrs []verbs.SendWR, control []*controlData) (int, error) {
	if s := q.State(); s != verbs.StateConnected || q.ending {
		return 0, fmt.Errorf("rdmatcp: queue pair %d: post send in state %v: %w", q.Num(), s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		if int(q.SendUsed.Load()) >= q.Cfg.MaxSendWR {
			return i, fmt.Errorf("rdmatcp: queue pair %d: request %d of %d: all %d entries of the send queue are in use: %w",
				q.Num(), i, len(wrs), q.Cfg.MaxSendWR, verbs.ErrQueueFull)
		}
		r := q.sq.next()
		err := q.checkSend(&wrs[i], r)
		if err == nil && control != nil && control[i] != nil {
			r.control = control[i]
			err = r.control.check()
		}
		if err != nil {
			return i, fmt.Errorf("rdmatcp: queue pair %d: request %d of %d (%v, id %#x): %w", q.Num(), i, len(wrs), wrs[i].Opcode, wrs[i].WRID, err)
		}
		q.sq.push()
		q.SendUsed.Add(1)
	}
	return len(wrs), nil
}

// checkSend checks a request and fills in r.
func (q *queuePair) checkSend(wr *verbs.SendWR, r *request) error {
	*r = request{
		wrid: wr.WRID, opcode: wr.Opcode, flags: wr.Flags, rkey: wr.RKey, invalidate: wr.InvalidateRKey, addr: wr.RemoteAddr,
		sgl: r.sgl[:0],
	}
	limit, longest, need := q.Cfg.MaxSendSGE, int(q.dev.attrs.MaxMessageSize), verbs.Access(0)
	switch wr.Opcode {
	case verbs.SendWithInvalidate:
		if !q.dev.attrs.RemoteInvalidate {
			return fmt.Errorf("needs the connection profile, which Config.Raw disables: %w", verbs.ErrNotSupported)
		}
		longest = int(min(q.dev.attrs.MaxMessageSize, q.maxSend))
	case verbs.Send:
		longest = int(min(q.dev.attrs.MaxMessageSize, q.maxSend))
	case verbs.RDMAWrite:
	case verbs.RDMARead:
		limit, need = min(limit, q.dev.attrs.MaxReadSGE), verbs.AccessLocalWrite
		if q.depth == 0 {
			return fmt.Errorf("the connection was set up without Reads (initiator depth 0): %w", verbs.ErrNotSupported)
		}
	case verbs.LocalInvalidate:
		return nil // it has no SGL
	default:
		return fmt.Errorf("unknown opcode: %w", verbs.ErrInvalidWR)
	}
	var err error
	r.sgl, r.total, err = q.PD.Check(r.sgl, wr.SGL, limit, longest, need)
	return err
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
		return 0, fmt.Errorf("rdmatcp: queue pair %d: post receive in state %v: %w", q.Num(), s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		if int(q.RecvUsed.Load()) >= q.Cfg.MaxRecvWR {
			return i, fmt.Errorf("rdmatcp: queue pair %d: receive %d of %d: all %d entries of the receive queue are in use: %w",
				q.Num(), i, len(wrs), q.Cfg.MaxRecvWR, verbs.ErrQueueFull)
		}
		r := q.rq.next()
		sgl, total, err := q.PD.Check(r.sgl[:0], wrs[i].SGL, q.Cfg.MaxRecvSGE, int(q.dev.attrs.MaxMessageSize), verbs.AccessLocalWrite)
		if err != nil {
			return i, fmt.Errorf("rdmatcp: queue pair %d: receive %d of %d (id %#x): %w", q.Num(), i, len(wrs), wrs[i].WRID, err)
		}
		*r = recv{wrid: wrs[i].WRID, total: total, sgl: sgl}
		q.rq.push()
		q.RecvUsed.Add(1)
	}
	return len(wrs), nil
}

// wake makes the reader look again at what it waits for in await.
func (q *queuePair) wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}
