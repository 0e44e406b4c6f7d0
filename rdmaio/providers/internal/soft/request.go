package soft

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Request is a checked request of a send queue.
type Request struct {
	WRID       uint64
	Opcode     verbs.Opcode
	Flags      verbs.SendFlags
	RKey       uint32
	Addr       uint64
	Invalidate uint32 // the key that a SendWithInvalidate or LocalInvalidate names
	Total      int    // bytes of SGL
	SGL        List
}

// ListLimits are the limits of a request's list.
type ListLimits struct {
	Elements int          // the most elements
	Bytes    int          // the most bytes of all elements together
	Need     verbs.Access // the rights that the region of each element needs
}

// CheckSend checks request i of a post and fills in r, whose list it reuses. maxSend is
// the length of the longest Send that the peer accepts, and depth the negotiated initiator
// depth.
func (q *QueuePair) CheckSend(r *Request, wrs []verbs.SendWR, i int, maxSend uint32, depth int) error {
	r.SGL = r.SGL[:0]
	l, err := q.BeginSend(r, wrs, i, maxSend, depth)
	if err != nil || wrs[i].Opcode == verbs.LocalInvalidate { // which has no list
		return err
	}
	if r.SGL, r.Total, err = q.PD.Check(r.SGL, wrs[i].SGL, l.Elements, l.Bytes, l.Need); err != nil {
		return q.SendError(wrs, i, err)
	}
	return nil
}

// BeginSend is CheckSend without the list, for a provider with another kind of regions. It returns
// the limits of the list.
func (q *QueuePair) BeginSend(r *Request, wrs []verbs.SendWR, i int, maxSend uint32, depth int) (ListLimits, error) {
	if int(q.SendUsed.Load()) >= q.Cfg.MaxSendWR {
		return ListLimits{}, q.sendFull(wrs, i)
	}
	wr, attrs := &wrs[i], &q.PD.dev.attrs
	r.WRID, r.Opcode, r.Flags, r.RKey, r.Addr, r.Invalidate = wr.WRID, wr.Opcode, wr.Flags, wr.RKey, wr.RemoteAddr, wr.InvalidateRKey
	r.Total = 0
	limit, longest, need := q.Cfg.MaxSendSGE, attrs.MaxMessageSize, verbs.Access(0)
	switch wr.Opcode {
	case verbs.SendWithInvalidate:
		if !attrs.RemoteInvalidate {
			return ListLimits{}, q.SendError(wrs, i, errNoInvalidation)
		}
		longest = min(longest, maxSend)
	case verbs.Send:
		longest = min(longest, maxSend)
	case verbs.RDMAWrite:
	case verbs.RDMARead:
		limit, need = min(limit, attrs.MaxReadSGE), verbs.AccessLocalWrite
		if depth == 0 {
			return ListLimits{}, q.SendError(wrs, i, errNoReads)
		}
	case verbs.LocalInvalidate: // it has no list
	default:
		return ListLimits{}, q.SendError(wrs, i, errOpcode)
	}
	return ListLimits{limit, int(longest), need}, nil
}

// The reasons for which BeginSend refuses a request. They are made once, because a function that
// makes errors costs each post more.
var (
	errNoInvalidation = fmt.Errorf("the device has no remote invalidation (DeviceAttributes.RemoteInvalidate): %w", verbs.ErrNotSupported)
	errNoReads        = fmt.Errorf("the connection was set up without Reads (initiator depth 0): %w", verbs.ErrNotSupported)
	errOpcode         = fmt.Errorf("unknown opcode: %w", verbs.ErrInvalidWR)
)

// sendFull returns the error of a post whose request i finds no entry of the send queue.
func (q *QueuePair) sendFull(wrs []verbs.SendWR, i int) error {
	return fmt.Errorf("%s: queue pair %d: request %d of %d: all %d entries of the send queue are in use: %w",
		q.PD.dev.provider, q.num, i, len(wrs), q.Cfg.MaxSendWR, verbs.ErrQueueFull)
}

// SendError returns the error of a post whose request i is refused because of err.
func (q *QueuePair) SendError(wrs []verbs.SendWR, i int, err error) error {
	return fmt.Errorf("%s: queue pair %d: request %d of %d (%v, id %#x): %w",
		q.PD.dev.provider, q.num, i, len(wrs), wrs[i].Opcode, wrs[i].WRID, err)
}

// CheckRecv checks Receive i of a post. It returns the checked form of the list, in the
// memory of to, and the sum of its lengths.
func (q *QueuePair) CheckRecv(to List, wrs []verbs.RecvWR, i int) (List, int, error) {
	if !q.takes(&wrs[i]) {
		if err := q.beginRecv(wrs, i); err != nil {
			return nil, 0, err
		}
	}
	l := q.RecvLimits()
	to, total, err := q.PD.Check(to[:0], wrs[i].SGL, l.Elements, l.Bytes, l.Need)
	if err != nil {
		return nil, 0, q.RecvError(wrs, i, err)
	}
	return to, total + wrs[i].Lend, nil // one of them is 0
}

// RecvLimits returns the limits of a Receive's list.
func (q *QueuePair) RecvLimits() ListLimits {
	return ListLimits{q.Cfg.MaxRecvSGE, int(q.PD.dev.attrs.MaxMessageSize), verbs.AccessLocalWrite}
}

// BeginRecv is CheckRecv without the list, for a provider with another kind of regions.
func (q *QueuePair) BeginRecv(wrs []verbs.RecvWR, i int) error {
	if q.takes(&wrs[i]) {
		return nil
	}
	return q.beginRecv(wrs, i)
}

// takes reports whether the receive queue has room for a Receive with memory, the common case.
func (q *QueuePair) takes(wr *verbs.RecvWR) bool {
	return wr.Lend == 0 && int(q.RecvUsed.Load()) < q.Cfg.MaxRecvWR
}

// beginRecv is BeginRecv where it refuses or lends.
func (q *QueuePair) beginRecv(wrs []verbs.RecvWR, i int) error {
	if int(q.RecvUsed.Load()) >= q.Cfg.MaxRecvWR {
		return fmt.Errorf("%s: queue pair %d: receive %d of %d: all %d entries of the receive queue are in use: %w",
			q.PD.dev.provider, q.num, i, len(wrs), q.Cfg.MaxRecvWR, verbs.ErrQueueFull)
	}
	if err := q.checkLend(&wrs[i]); err != nil {
		return q.RecvError(wrs, i, err)
	}
	return nil
}

// RecvError returns the error of a post whose Receive i is refused because of err.
func (q *QueuePair) RecvError(wrs []verbs.RecvWR, i int, err error) error {
	return fmt.Errorf("%s: queue pair %d: receive %d of %d (id %#x): %w", q.PD.dev.provider, q.num, i, len(wrs), wrs[i].WRID, err)
}

// checkLend checks a Receive without memory.
func (q *QueuePair) checkLend(wr *verbs.RecvWR) error {
	switch a := &q.PD.dev.attrs; {
	case !a.LendReceives:
		return fmt.Errorf("the device lends no memory (DeviceAttributes.LendReceives): %w", verbs.ErrNotSupported)
	case len(wr.SGL) > 0 || wr.Lend < 0:
		return fmt.Errorf("it has %d elements and borrows %d bytes, want one of them: %w", len(wr.SGL), wr.Lend, verbs.ErrInvalidWR)
	case uint64(wr.Lend) > uint64(a.MaxMessageSize):
		return fmt.Errorf("it borrows %d bytes, the longest message has %d: %w", wr.Lend, a.MaxMessageSize, verbs.ErrTooLarge)
	}
	return nil
}

// wcOpcode returns the opcode of the request's completion.
func (r *Request) wcOpcode() verbs.WCOpcode {
	switch r.Opcode {
	case verbs.RDMAWrite:
		return verbs.WCRDMAWrite
	case verbs.RDMARead:
		return verbs.WCRDMARead
	case verbs.LocalInvalidate:
		return verbs.WCLocalInvalidate
	}
	return verbs.WCSend
}

// CompleteSend completes the oldest request of the send queue. An unsignaled request that
// has succeeded gets no completion: its entry is freed with the next completion's entry. m must be
// held.
func (q *QueuePair) CompleteSend(m *Mutex, r *Request, status verbs.Status) {
	q.unreported++
	if status == verbs.StatusSuccess && r.Flags&verbs.SendSignaled == 0 {
		return
	}
	wc := verbs.WC{WRID: r.WRID, Status: status, Opcode: r.wcOpcode(), QPNum: q.num}
	if r.Opcode == verbs.RDMARead && status == verbs.StatusSuccess {
		wc.ByteLen = uint32(r.Total)
	}
	freed := q.unreported
	q.unreported = 0
	m.push(q.SendCQ, entry{wc: wc, qp: q, sends: freed}, false)
}

// CompleteRecv completes the oldest Receive. wc has the fields that depend on the message.
// m is locked.
func (q *QueuePair) CompleteRecv(m *Mutex, wrid uint64, wc verbs.WC, solicited bool) {
	wc.WRID, wc.Opcode, wc.QPNum = wrid, verbs.WCRecv, q.num
	m.push(q.RecvCQ, entry{wc: wc, qp: q}, solicited)
}
