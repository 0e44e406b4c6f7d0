package rdmatcp

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// PostSend implements verbs.QueuePair.
func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	q.mu.Lock()
	n, err := q.postSend(wrs)
	if n > 0 {
		q.kick()
	}
	q.unlock()
	return n, err
}

func (q *queuePair) postSend(wrs []verbs.SendWR) (int, error) {
	if s := q.State(); s != verbs.StateConnected || q.ending {
		return 0, fmt.Errorf("rdmatcp: queue pair %d: post send in state %v: %w", q.num, s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		if int(q.sqUsed.Load()) >= q.cfg.MaxSendWR {
			return i, fmt.Errorf("rdmatcp: queue pair %d: request %d of %d: all %d entries of the send queue are in use: %w",
				q.num, i, len(wrs), q.cfg.MaxSendWR, verbs.ErrQueueFull)
		}
		if err := q.checkSend(&wrs[i], q.sq.next()); err != nil {
			return i, fmt.Errorf("rdmatcp: queue pair %d: request %d of %d (%v, id %#x): %w", q.num, i, len(wrs), wrs[i].Opcode, wrs[i].WRID, err)
		}
		q.sq.push()
		q.sqUsed.Add(1)
	}
	return len(wrs), nil
}

// checkSend refuses what can be refused now and fills in r.
func (q *queuePair) checkSend(wr *verbs.SendWR, r *request) error {
	*r = request{
		wrid: wr.WRID, opcode: wr.Opcode, flags: wr.Flags, rkey: wr.RKey, invalidate: wr.InvalidateRKey, addr: wr.RemoteAddr,
		sgl: r.sgl[:0],
	}
	limit, longest, need := q.cfg.MaxSendSGE, int(q.pd.dev.attrs.MaxMessageSize), verbs.Access(0)
	switch wr.Opcode {
	case verbs.SendWithInvalidate:
		if !q.pd.dev.attrs.RemoteInvalidate {
			return fmt.Errorf("needs the connection profile, which the device is told to leave out: %w", verbs.ErrNotSupported)
		}
		longest = int(min(q.pd.dev.attrs.MaxMessageSize, q.maxSend))
	case verbs.Send:
		longest = int(min(q.pd.dev.attrs.MaxMessageSize, q.maxSend))
	case verbs.RDMAWrite:
	case verbs.RDMARead:
		limit, need = min(limit, q.pd.dev.attrs.MaxReadSGE), verbs.AccessLocalWrite
		if q.depth == 0 {
			return fmt.Errorf("the connection was set up without Reads (initiator depth 0): %w", verbs.ErrNotSupported)
		}
	case verbs.LocalInvalidate:
		return nil // has no list
	default:
		return fmt.Errorf("unknown opcode: %w", verbs.ErrInvalidWR)
	}
	var err error
	r.sgl, r.total, err = q.checkList(r.sgl, wr.SGL, limit, longest, need)
	return err
}

// PostRecv implements verbs.QueuePair.
func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	q.mu.Lock()
	n, err := q.postRecv(wrs)
	if n > 0 {
		q.wake()
	}
	q.unlock()
	return n, err
}

func (q *queuePair) postRecv(wrs []verbs.RecvWR) (int, error) {
	if s := q.State(); s > verbs.StateConnected || q.ending {
		return 0, fmt.Errorf("rdmatcp: queue pair %d: post receive in state %v: %w", q.num, s, verbs.ErrInvalidState)
	}
	for i := range wrs {
		if int(q.rqUsed.Load()) >= q.cfg.MaxRecvWR {
			return i, fmt.Errorf("rdmatcp: queue pair %d: receive %d of %d: all %d entries of the receive queue are in use: %w",
				q.num, i, len(wrs), q.cfg.MaxRecvWR, verbs.ErrQueueFull)
		}
		r := q.rq.next()
		sgl, total, err := q.checkList(r.sgl[:0], wrs[i].SGL, q.cfg.MaxRecvSGE, int(q.pd.dev.attrs.MaxMessageSize), verbs.AccessLocalWrite)
		if err != nil {
			return i, fmt.Errorf("rdmatcp: queue pair %d: receive %d of %d (id %#x): %w", q.num, i, len(wrs), wrs[i].WRID, err)
		}
		*r = recv{wrid: wrs[i].WRID, total: total, sgl: sgl}
		q.rq.push()
		q.rqUsed.Add(1)
	}
	return len(wrs), nil
}

// wake tells the reader that something it may wait for has happened.
func (q *queuePair) wake() {
	select {
	case q.posted <- struct{}{}:
	default:
	}
}

// checkList appends the checked form of a scatter/gather list of at most limit
// elements to to, and adds up its length.
func (q *queuePair) checkList(to []element, sgl []verbs.SGE, limit, longest int, need verbs.Access) ([]element, int, error) {
	if len(sgl) > limit {
		return to, 0, fmt.Errorf("%d elements, limit is %d: %w", len(sgl), limit, verbs.ErrInvalidWR)
	}
	total := 0
	for i := range sgl {
		e := &sgl[i]
		mr, ok := e.MR.(*memoryRegion)
		switch {
		case e.MR == nil:
			return to, 0, fmt.Errorf("element %d has no region: %w", i, verbs.ErrInvalidWR)
		case !ok || mr.pd != q.pd:
			return to, 0, fmt.Errorf("element %d: %w", i, verbs.ErrForeignObject)
		}
		el := element{mr: mr, off: e.Offset, n: e.Length}
		if err := el.check(need); err != nil {
			return to, 0, fmt.Errorf("element %d: %w", i, err)
		}
		if e.Length > longest-total {
			return to, 0, fmt.Errorf("element %d brings the message to more than %d bytes: %w", i, longest, verbs.ErrTooLarge)
		}
		total += e.Length
		to = append(to, el)
	}
	return to, total, nil
}

// check says what is wrong with a local element now, and notes which
// registration it means.
func (e *element) check(need verbs.Access) error {
	mr := e.mr
	mr.mu.Lock()
	defer mr.mu.Unlock()
	switch {
	case mr.state != verbs.MRValid:
		return fmt.Errorf("region is %v: %w", mr.state, verbs.ErrAccess)
	case e.off < 0 || e.n < 0 || e.off > len(mr.buf) || e.n > len(mr.buf)-e.off:
		return fmt.Errorf("offset %d and length %d are not within the %d bytes of the region: %w", e.off, e.n, len(mr.buf), verbs.ErrInvalidWR)
	case mr.access&need != need:
		return fmt.Errorf("region has no %v right: %w", need, verbs.ErrAccess)
	}
	e.registration = mr.registration
	return nil
}
