package xchar

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

// upd is a UPD as a message of an Endpoint decodes.
func upd(v Value, clear bool) *wire.Upd { return &wire.Upd{Now: v.wire(), PendClear: clear} }

// TestReqUnknown proves T108, R233 and R248: a REQ with unknown ids only is rejected as a whole.
// R244 and R245: any supporter answers, with the xid of the REQ. R231: an empty set is answered
// too.
func TestReqUnknown(t *testing.T) {
	e := endpoint(t, &Config{Policy: &answers{decision: Accept}})
	h := body(t, wire.OpReq, &wire.Req{Want: wire.Spec{{Which: 0}, {Which: 4, Data: []byte{1}}, {Which: 4294967295}}})
	out := receive(t, e, 0xabcd, h)
	wantSent(t, out, &wire.Resp{Rejected: wire.Subset{7}})
	same(t, "xid", out.Send[0].XID, 0xabcd)
	same(t, "direction", out.Send[0].Header.Direction, xcharcarrier.XIDOfReceiver)
	wantSent(t, receive(t, e, 1, reqOf(t)), &wire.Resp{})
	same(t, "own", e.Own(), Characteristics{ReceiveSize: 4096})
}

// TestReqDecisions proves R244, R246, R247 and R248: each element is in one subset of the RESP, and
// only the changes that are done are in force.
func TestReqDecisions(t *testing.T) {
	all := []Value{Backward(wire.BackwardGeneral), RemoteInvalidation(true), ReceiveSize(2048)}
	old := Characteristics{ReceiveSize: 4096}
	changed := Characteristics{2048, true, wire.BackwardGeneral}
	for _, c := range []struct {
		name   string
		cfg    Config
		want   *wire.Resp
		own    Characteristics
		policy int
		state  State
	}{
		{"no policy", Config{}, &wire.Resp{Rejected: wire.Subset{7}}, old, 0, StateSettled},
		{"reject", Config{Policy: &answers{}}, &wire.Resp{Rejected: wire.Subset{7}}, old, 3, StateSettled},
		{"accept", Config{Policy: &answers{decision: Accept}}, &wire.Resp{Rejected: wire.Subset{0}, Done: wire.Subset{7}}, changed, 3, StateSettled},
		{"defer", Config{Policy: &answers{decision: Defer}}, &wire.Resp{Rejected: wire.Subset{0}, Pending: wire.Subset{7}}, old, 3, StatePending},
		{
			"fixed",
			Config{Policy: &answers{decision: Accept}, Fixed: []wire.ID{1, 2, 3}},
			&wire.Resp{Rejected: wire.Subset{7}}, old, 0, StateFixed,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := endpoint(t, &c.cfg)
			wantSent(t, receive(t, e, 1, reqOf(t, all...)), c.want)
			same(t, "own", e.Own(), c.own)
			if a, ok := c.cfg.Policy.(*answers); ok {
				same(t, "questions to the policy", len(a.asked), c.policy)
			}
			same(t, "state", e.OwnState(wire.IDBackwardSupport), c.state)
			// The present value is done, whatever the policy, and even if it is fixed.
			now := characteristicsOf(e.Own())
			out := receive(t, e, 2, reqOf(t, now...))
			same[any](t, "RESP", sent(t, out.Send[len(out.Send)-1]), &wire.Resp{Rejected: wire.Subset{0}, Done: wire.Subset{7}})
		})
	}
}

func characteristicsOf(c Characteristics) []Value {
	return []Value{ReceiveSize(c.ReceiveSize), RemoteInvalidation(c.RemoteInvalidation), Backward(c.Backward)}
}

// TestReqPositions proves R227 and R246 for elements beyond the first word of a subset, and the
// bound on elements.
func TestReqPositions(t *testing.T) {
	req := &wire.Req{Want: make(wire.Spec, MaxElements)}
	req.Want[33] = RemoteInvalidation(true).wire()
	req.Want[64] = ReceiveSize(1 << 20).wire()
	e := endpoint(t, &Config{Policy: &answers{decision: Accept}})
	out := receive(t, e, 1, body(t, wire.OpReq, req))
	resp := sent(t, out.Send[0]).(*wire.Resp)
	same(t, "done", resp.Done, wire.Subset{0, 2})
	same(t, "pending", resp.Pending, wire.Subset{0, 0, 1})
	same(t, "words", len(resp.Rejected), MaxElements/32)
	for n, word := range resp.Rejected {
		want := ^uint32(0)
		switch n {
		case 1:
			want &^= 2
		case 2:
			want &^= 1
		}
		same(t, "rejected", word, want)
	}
	if n := 20 + out.Send[0].Header.XDRSize(); n > 1024 {
		t.Errorf("the RESP has %d bytes, expected at most 1024", n)
	}
	req.Want = append(req.Want, wire.Value{})
	if out := e.Receive(2, body(t, wire.OpReq, req)); out.Fault == nil || out.Fault.Code != rpcrdma2.ErrSystem || len(out.Send) != 0 {
		t.Errorf("%d elements: %v, want error SYSTEM", len(req.Want), out.Fault)
	}
}

// TestUpdateSettlesADeferredRequest proves R249, R250 and R251 at the endpoint that defers: the UPD
// makes a change real or completes the request without one.
func TestUpdateSettlesADeferredRequest(t *testing.T) {
	for _, v := range []Value{RemoteInvalidation(true), Backward(wire.BackwardGeneral), ReceiveSize(1024)} {
		for _, accept := range []bool{false, true} {
			e := endpoint(t, &Config{Policy: &answers{decision: Defer}})
			s, _ := slotOf(v.ID)
			old := s.value(e.own[s].word)
			receive(t, e, 1, reqOf(t, v))
			same(t, "state", e.OwnState(v.ID), StatePending)
			out, err := e.Settle(v.ID, accept)
			now := old
			if accept {
				now = v
			}
			same(t, "error", err, nil)
			wantSent(t, out, upd(now, true))
			same(t, "direction", out.Send[0].Header.Direction, xcharcarrier.XIDOfSender)
			same(t, "value", e.own[s].word, now.Word)
			same(t, "state", e.OwnState(v.ID), StateSettled)
			if _, err := e.Settle(v.ID, accept); !errors.Is(err, ErrNotPending) {
				t.Errorf("settled twice: %v, want ErrNotPending", err)
			}
		}
	}
	if _, err := endpoint(t, nil).Settle(9, true); !errors.Is(err, ErrNotPending) {
		t.Errorf("unknown characteristic: %v, want ErrNotPending", err)
	}
}

// TestLaterRequest proves R249: more requests are possible while one is pending. If the later one
// is not rejected, a UPD before its RESP completes the earlier one; if it is rejected, the earlier
// one stays pending.
func TestLaterRequest(t *testing.T) {
	policy := &answers{decision: Defer}
	e := endpoint(t, &Config{Policy: policy})
	receive(t, e, 1, reqOf(t, Backward(wire.BackwardGeneral)))
	policy.decision = Reject
	wantSent(t, receive(t, e, 2, reqOf(t, Backward(wire.BackwardNone))), &wire.Resp{Rejected: wire.Subset{1}})
	same(t, "state", e.OwnState(wire.IDBackwardSupport), StatePending)
	policy.decision = Defer
	wantSent(t, receive(t, e, 3, reqOf(t, Backward(wire.BackwardSizeLimited))),
		upd(Backward(wire.BackwardUnknown), true), &wire.Resp{Rejected: wire.Subset{0}, Pending: wire.Subset{1}})
	policy.decision = Accept
	wantSent(t, receive(t, e, 4, reqOf(t, Backward(wire.BackwardNone))),
		upd(Backward(wire.BackwardUnknown), true), &wire.Resp{Rejected: wire.Subset{0}, Done: wire.Subset{1}})
	same(t, "state", e.OwnState(wire.IDBackwardSupport), StateSettled)
	same(t, "level", e.Own().Backward, wire.BackwardNone)
}

// TestEndpointReportsItsOwnChange proves R251: an endpoint reports a change that no request asked
// for, without clear, also while a request is pending. R255: it never changes what it declared
// fixed. R238: it never reduces its receive size on its own.
func TestEndpointReportsItsOwnChange(t *testing.T) {
	e := endpoint(t, &Config{Policy: &answers{decision: Defer}, Fixed: []wire.ID{wire.IDRemoteInvalidation}})
	receive(t, e, 1, reqOf(t, Backward(wire.BackwardGeneral)))
	out, err := e.Set(Backward(wire.BackwardNone))
	same(t, "error", err, nil)
	wantSent(t, out, upd(Backward(wire.BackwardNone), false))
	same(t, "state", e.OwnState(wire.IDBackwardSupport), StatePending)
	out, err = e.Set(Backward(wire.BackwardNone))
	same(t, "error", err, nil)
	same(t, "effects of the present value", out, Effects{})
	out, err = e.Set(RemoteInvalidation(false))
	same(t, "error", err, nil)
	same(t, "effects of the present value, fixed", out, Effects{})
	for _, c := range []struct {
		v    Value
		want error
		text string
	}{
		{RemoteInvalidation(true), ErrFixed, "xchar: remote invalidation true: characteristic is fixed (section 4.1)"},
		{ReceiveSize(4095), ErrCut, "xchar: receive size 4095: receive size is reduced only on request of the peer (section 3.1)"},
		{Value{9, 1}, nil, "xchar: found characteristic 9, expected 1, 2 or 3 (section 3, table 1)"},
		{Value{2, 7}, nil, "xchar: remote invalidation is 7, expected 0 or 1 (section 3.2): use RemoteInvalidation"},
		{Value{3, 4}, nil, "xchar: backward support is 4, expected 0 to 3 (section 3.3)"},
	} {
		_, err := e.Set(c.v)
		if err == nil || err.Error() != c.text || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %s", c.v, err, c.text)
		}
	}
}
