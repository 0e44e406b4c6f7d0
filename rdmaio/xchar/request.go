package xchar

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

// request is a REQ of this endpoint with a change that has no final result.
type request struct {
	xid      uint32
	answered bool
	n        int // number of changes
	changes  [slots]change
}

// change is one element of a request. It is open until it is done or rejected.
type change struct {
	slot slot
	word uint32
	open bool
}

// The errors of Request.
var (
	// ErrUnsupported means that the peer answered an INIT or a REQ with an error that says so. The
	// request counts as rejected (section 3).
	ErrUnsupported = errors.New("the peer does not support requests of changes")

	// ErrTooMany means that MaxRequests requests are unanswered or pending.
	ErrTooMany = errors.New("too many requests are unanswered or pending")

	// ErrXID means that an unanswered request has the same transaction ID.
	ErrXID = errors.New("an unanswered request has this transaction ID")
)

// Request returns the message that requests changes of the peer's characteristics, each at most
// once. The xid must not belong to another message that waits for an answer. SendLimit follows a
// smaller receive size as of now: messages larger than it must be sent before this message, or not
// at all.
func (e *Endpoint) Request(xid uint32, changes ...Value) (Message, error) {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.2; R244, R253
	req, err := e.newRequest(xid, changes)
	if err != nil {
		return Message{}, err
	}
	e.requests = append(e.requests, req)
	var op wire.Req
	for _, v := range changes {
		op.Want = append(op.Want, v.wire())
	}
	return message(xid, xcharcarrier.XIDOfSender, wire.OpReq, &op), nil
}

// newRequest returns the request of valid changes.
func (e *Endpoint) newRequest(xid uint32, changes []Value) (request, error) {
	req := request{xid: xid}
	if e.absent { // R258
		return req, fmt.Errorf("xchar: %w", ErrUnsupported)
	}
	if len(e.requests) >= MaxRequests {
		return req, fmt.Errorf("xchar: %w: %d, at most %d", ErrTooMany, len(e.requests), MaxRequests)
	}
	if e.unanswered(xid) >= 0 {
		return req, fmt.Errorf("xchar: %w: %#x", ErrXID, xid)
	}
	if len(changes) == 0 {
		return req, errors.New("xchar: a request of no change, expected at least one value")
	}
	for i, v := range changes {
		if err := v.valid(); err != nil {
			return req, err
		}
		s, _ := slotOf(v.ID)
		if slices.ContainsFunc(changes[:i], func(o Value) bool { return o.ID == v.ID }) {
			return req, fmt.Errorf("xchar: %v: characteristic %d is in the request already, expected each once", v, v.ID)
		}
		if p := &e.peer[s]; p.fixed && p.word != v.Word {
			return req, fmt.Errorf("xchar: %v: the peer's %w", v, ErrFixed)
		}
		req.changes[req.n] = change{s, v.Word, true}
		req.n++
	}
	return req, nil
}

// unanswered returns the index of the unanswered request with this xid, or -1.
func (e *Endpoint) unanswered(xid uint32) int {
	return slices.IndexFunc(e.requests, func(r request) bool { return r.xid == xid && !r.answered })
}

// receiveResp takes the answer to a request.
func (e *Endpoint) receiveResp(xid uint32, h *xcharcarrier.Optional, out *Effects) *Fault {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.3; R245
	i := -1
	if h.Direction == xcharcarrier.XIDOfReceiver {
		i = e.unanswered(xid)
	}
	f := open(h, xcharcarrier.XIDOfReceiver, "RESP", (*wire.Resp)(nil))
	switch {
	case i < 0 && f == nil: // R256
		e.stats.UnknownResponses++
		return nil
	case i < 0:
		return f
	}
	r := &e.requests[i]
	var done, pending uint32
	fits := false
	if f == nil {
		done, pending, fits = disposition(wire.RespView(h.Info), r.n)
	}
	if !fits { // R246, R256: the whole request counts as rejected.
		e.stats.BadResponses++
		done, pending = 0, 0
	}
	r.answered = true
	for n := range r.changes[:r.n] {
		result := Rejected
		switch {
		case done&(1<<n) != 0:
			result = Done
		case pending&(1<<n) != 0:
			result = Pending
		}
		e.conclude(r, n, result, out)
	}
	e.forget()
	return f
}

// disposition returns the elements that are done and pending in the answer to a request of n. The
// three subsets fit if each element is in exactly one, and no other bit is set.
func disposition(op wire.RespView, n int) (done, pending uint32, fits bool) {
	done, doneOK := low(op.Done())
	rejected, rejectedOK := low(op.Rejected())
	pending, pendingOK := low(op.Pending())
	overlap := done&rejected | done&pending | rejected&pending
	all := uint32(1)<<n - 1
	return done, pending, doneOK && rejectedOK && pendingOK && overlap == 0 && done|rejected|pending == all
}

// conclude records the result of a change. A value that is done is in force from now on.
func (e *Endpoint) conclude(r *request, n int, result Result, out *Effects) { // R247, R248, R249
	c := &r.changes[n]
	c.open = result == Pending
	if result == Done && !e.learn(c.slot, c.word, out) {
		result = Rejected
	}
	out.Outcomes = append(out.Outcomes, Outcome{r.xid, c.slot.value(c.word), result})
}

// clear completes the oldest pending request of a characteristic, whose value is now word.
func (e *Endpoint) clear(s slot, word uint32, out *Effects) { // R250, R251
	for i := range e.requests {
		r := &e.requests[i]
		for n := range r.changes[:r.n] {
			c := &r.changes[n]
			if !r.answered || !c.open || c.slot != s {
				continue
			}
			result := Rejected
			if c.word == word {
				result = Done
			}
			e.conclude(r, n, result, out)
			e.forget()
			return
		}
	}
}

// forget drops the requests whose changes all have a final result.
func (e *Endpoint) forget() {
	e.requests = slices.DeleteFunc(e.requests, func(r request) bool {
		return !slices.ContainsFunc(r.changes[:r.n], func(c change) bool { return c.open })
	})
}

// PeerError takes the code of an RDMA2_ERROR message whose xid belongs to no Call. If the xid
// belongs to a request that is not answered, each of its changes counts as rejected. PeerError
// reports whether the xid belongs to a request or the INIT.
func (e *Endpoint) PeerError(xid uint32, code rpcrdma2.ErrCode) (Effects, bool) { // R258
	var out Effects
	i := e.unanswered(xid)
	ours := i >= 0 || e.initSent && xid == e.initXID
	if !ours {
		return out, false
	}
	if code == rpcrdma2.ErrInvalHtype {
		e.absent = true
	}
	if i < 0 {
		e.initSent = false
		return out, true
	}
	r := &e.requests[i]
	r.answered = true
	for n := range r.changes[:r.n] {
		e.conclude(r, n, Rejected, &out)
	}
	e.forget()
	return out, true
}
