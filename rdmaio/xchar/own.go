package xchar

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

// own is a characteristic of this endpoint.
type own struct {
	word  uint32 // as announced
	fixed bool
	asked bool   // a request of the peer is pending
	want  uint32 // the value that it requests
	cut   bool   // it requests a smaller receive size, to which the peer keeps
}

// raise is a larger receive size that is not announced yet, because smaller Receives are posted.
// Size zero means that no such size waits.
type raise struct {
	size  uint32
	asked bool // the peer requests it
}

// The errors of changes.
var (
	// ErrFixed means that the endpoint declared the characteristic fixed.
	ErrFixed = errors.New("characteristic is fixed (section 4.1)")

	// ErrCut means that an endpoint reduces its receive size only on request of its peer.
	ErrCut = errors.New("receive size is reduced only on request of the peer (section 3.1)")

	// ErrRaising means that a larger receive size that the peer requested is not announced yet.
	ErrRaising = errors.New("a receive size that the peer requested is not announced yet: retry after ReceivesReplaced")

	// ErrNotPending means that no request of the peer waits for a decision.
	ErrNotPending = errors.New("no request of the peer is pending")
)

// receiveReq decides about the changes that the peer requests, and answers.
func (e *Endpoint) receiveReq(xid uint32, h *xcharcarrier.Optional, out *Effects) *Fault {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.2; R244
	if f := open(h, xcharcarrier.XIDOfSender, "REQ", (*wire.Req)(nil)); f != nil {
		return f
	}
	want, err := readSet(wire.ReqView(h.Info).Want())
	if err != nil { // A33: none of the set is applied.
		return fault(rpcrdma2.ErrBadXDR, "REQ", err)
	}
	if want.elements > MaxElements {
		return fault(rpcrdma2.ErrSystem, "REQ", fmt.Errorf("%d values, at most %d are supported", want.elements, MaxElements))
	}
	var resp wire.Resp
	for n := range want.elements { // R233, R248: unknown characteristics are rejected.
		resp.Rejected = add(resp.Rejected, n)
	}
	for s := range slot(slots) {
		if !want.present[s] {
			continue
		}
		n := want.index[s]
		switch e.answer(s, want.word[s], out) {
		case Done:
			resp.Rejected[n/32] &^= 1 << (n % 32)
			resp.Done = add(resp.Done, n)
		case Pending:
			resp.Rejected[n/32] &^= 1 << (n % 32)
			resp.Pending = add(resp.Pending, n)
		}
	}
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.3; R245, R246: the RESP has the xid of the REQ,
	// and each element in one subset.
	out.Send = append(out.Send, message(xid, xcharcarrier.XIDOfReceiver, wire.OpResp, &resp))
	return nil
}

// answer makes, rejects or defers a change that the peer requests.
func (e *Endpoint) answer(s slot, word uint32, out *Effects) Result {
	o := &e.own[s]
	if word == o.word {
		e.replace(s, out)
		return Done
	}
	if o.fixed {
		return Rejected
	}
	switch e.decide(s, word) {
	case Accept:
		e.replace(s, out)
		return e.change(s, word, out)
	case Defer:
		e.replace(s, out)
		o.ask(word)
		return Pending
	}
	return Rejected
}

// ask records a pending request of the peer.
func (o *own) ask(word uint32) {
	o.asked, o.want, o.cut = true, word, word < o.word
}

// replace completes the pending request of a characteristic because of a later one (R249). The UPD
// that does so does not change the value (R251).
func (e *Endpoint) replace(s slot, out *Effects) {
	if !e.own[s].asked {
		return
	}
	if s == receiveSize && e.raise.asked {
		e.raise = raise{}
		out.Post = e.own[s].word
	}
	e.update(s, true, out)
}

// change makes a change that the peer requested. It returns Pending if the change has to wait for
// the connection.
func (e *Endpoint) change(s slot, word uint32, out *Effects) Result {
	o := &e.own[s]
	if s == receiveSize {
		out.Post = word
		// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §3.1; R237: announced when no
		// smaller Receive is left.
		if word > o.word {
			o.ask(word)
			e.raise = raise{word, true}
			return Pending
		}
		// R238: the peer keeps to the lower size since its request, so that the cut is safe now.
		e.raise = raise{}
	}
	o.word = word
	return Done
}

// update sends a UPD with the present value. With clear it completes the peer's pending request.
func (e *Endpoint) update(s slot, clear bool, out *Effects) {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.4; R250
	o := &e.own[s]
	if clear {
		o.asked = false
	}
	op := wire.Upd{Now: s.value(o.word).wire(), PendClear: clear}
	out.Send = append(out.Send, message(0, xcharcarrier.XIDOfSender, wire.OpUpd, &op))
}

// ReceivesReplaced says that no posted Receive is smaller than size bytes. It announces the receive
// size that waits for this, if any (section 3.1).
func (e *Endpoint) ReceivesReplaced(size uint32) Effects { // R237
	var out Effects
	if r := e.raise; r.size != 0 && size >= r.size {
		e.raise = raise{}
		e.own[receiveSize].word = r.size
		e.update(receiveSize, r.asked, &out)
	}
	return out
}

// Settle makes or drops a change that Policy deferred, and informs the peer with a UPD that
// completes the request. A larger receive size is announced by ReceivesReplaced. Without a pending
// request the error is ErrNotPending.
func (e *Endpoint) Settle(id wire.ID, accept bool) (Effects, error) { // R249, R251
	var out Effects
	s, known := slotOf(id)
	if !known || !e.own[s].asked {
		return out, fmt.Errorf("xchar: characteristic %d: %w", id, ErrNotPending)
	}
	o := &e.own[s]
	raising := s == receiveSize && e.raise.asked
	// R238: the peer does not keep to a size that was a larger one when it was requested.
	overtaken := s == receiveSize && o.want <= o.word && !o.cut
	switch {
	case raising && accept: // ReceivesReplaced completes the request.
	case raising:
		e.raise = raise{}
		out.Post = o.word
		e.update(s, true, &out)
	case !accept, overtaken, e.change(s, o.want, &out) == Done:
		e.update(s, true, &out)
	}
	return out, nil
}

// Set changes a characteristic of this endpoint without a request of the peer, and informs the peer
// with a UPD. A larger receive size is announced by ReceivesReplaced; a second one replaces the
// first; the present one drops it. The error is ErrFixed, ErrCut, ErrRaising, or says that the
// value is not valid.
func (e *Endpoint) Set(v Value) (Effects, error) { // R251
	var out Effects
	if err := v.valid(); err != nil {
		return out, err
	}
	s, _ := slotOf(v.ID)
	if err := e.settable(s, v.Word); err != nil {
		return out, fmt.Errorf("xchar: %v: %w", v, err)
	}
	o := &e.own[s]
	switch {
	case s == receiveSize && v.Word > o.word:
		e.raise = raise{size: v.Word}
		out.Post = v.Word
	case v.Word != o.word:
		o.word = v.Word
		e.update(s, false, &out)
	case s == receiveSize && e.raise.size != 0:
		e.raise = raise{}
		out.Post = o.word
	}
	return out, nil
}

// settable returns why this endpoint cannot set a characteristic.
func (e *Endpoint) settable(s slot, word uint32) error {
	switch o := &e.own[s]; {
	case o.fixed && word != o.word:
		return ErrFixed
	case s == receiveSize && word < o.word: // R238
		return ErrCut
	case s == receiveSize && e.raise.asked:
		return ErrRaising
	}
	return nil
}
