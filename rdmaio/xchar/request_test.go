package xchar

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

var (
	cut  = ReceiveSize(2048)
	inv  = RemoteInvalidation(true)
	genl = Backward(wire.BackwardGeneral)
)

// TestRequestIsAnsweredByElement proves R245 to R249: the answer to a REQ, by element.
func TestRequestIsAnsweredByElement(t *testing.T) {
	e := endpoint(t, nil)
	m := ask(t, e, 5, cut, inv, genl)
	same[any](t, "REQ", sent(t, m), &wire.Req{Want: spec(cut, inv, genl)})
	same(t, "xid", m.XID, 5)
	for id := range wire.ID(3) {
		same(t, "state", e.PeerState(id+1), StateRequested)
	}
	out := receive(t, e, 5, respOf(t, 2, 1, 4))
	same(t, "outcomes", out.Outcomes, []Outcome{{5, cut, Rejected}, {5, inv, Done}, {5, genl, Pending}})
	same(t, "changed", out.Changed, []Value{inv})
	same(t, "peer", e.Peer(), Characteristics{4096, true, wire.BackwardSizeLimited})
	same(t, "state", e.PeerState(1), StateSettled)
	same(t, "state", e.PeerState(2), StateSettled)
	same(t, "state", e.PeerState(3), StatePending)
	// A request of another value stays possible (R249).
	ask(t, e, 6, Backward(wire.BackwardNone))
	same(t, "state", e.PeerState(3), StateRequested)
}

// TestBadResp proves T109, R246 and R256: a RESP with an overlap, a gap or a bit past the REQ is
// ignored as a whole, its REQ counts as rejected, and a counter goes up.
func TestBadResp(t *testing.T) {
	word := func(words ...uint32) wire.Subset { return words }
	for _, c := range []struct {
		name string
		resp wire.Resp
		good bool
	}{
		{"nothing", wire.Resp{}, false},
		{"gap", wire.Resp{Done: word(1), Pending: word(4)}, false},
		{"overlap of done and rejected", wire.Resp{Done: word(7), Rejected: word(1)}, false},
		{"overlap of done and pending", wire.Resp{Done: word(3), Pending: word(6)}, false},
		{"overlap of rejected and pending", wire.Resp{Rejected: word(7), Pending: word(2)}, false},
		{"bit past the REQ, done", wire.Resp{Done: word(15)}, false},
		{"bit past the REQ, rejected", wire.Resp{Done: word(7), Rejected: word(1 << 31)}, false},
		{"bit past the REQ, pending", wire.Resp{Done: word(7), Pending: word(0, 0, 1)}, false},
		{"second word, done", wire.Resp{Done: word(7, 1)}, false},
		{"second word alone, done", wire.Resp{Done: word(0, 1), Rejected: word(7)}, false},
		{"third word alone, rejected", wire.Resp{Done: word(7), Rejected: word(0, 0, 1)}, false},
		{"zero words past the REQ", wire.Resp{Done: word(7, 0, 0), Rejected: word(0, 0)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := endpoint(t, nil)
			ask(t, e, 5, cut, inv, genl)
			out := receive(t, e, 5, body(t, wire.OpResp, &c.resp))
			if c.good {
				same(t, "peer", e.Peer(), Characteristics{2048, true, wire.BackwardGeneral})
				same(t, "stats", e.Stats(), Stats{})
				return
			}
			same(t, "outcomes", out.Outcomes, []Outcome{{5, cut, Rejected}, {5, inv, Rejected}, {5, genl, Rejected}})
			same(t, "changed", len(out.Changed), 0)
			same(t, "peer", e.Peer(), Defaults())
			same(t, "limit", e.SendLimit(4096), 4096)
			same(t, "stats", e.Stats(), Stats{BadResponses: 1})
		})
	}
	// One that is not valid XDR is reported to the caller (R232), not to the peer (R193).
	e := endpoint(t, nil)
	ask(t, e, 5, cut)
	h := &xcharcarrier.Optional{Op: wire.OpResp, Info: []byte{0, 0, 0, 1}}
	out := e.Receive(5, h)
	if out.Fault == nil || out.Fault.Code != rpcrdma2.ErrBadXDR || len(out.Outcomes) != 0 {
		t.Errorf("RESP with the peer's own xid: %+v, want BAD_XDR and no outcome", out)
	}
	h.Direction = xcharcarrier.XIDOfReceiver
	out = e.Receive(5, h)
	if out.Fault == nil || out.Fault.Code != 0 {
		t.Errorf("%+v, want a fault without a code", out.Fault)
	}
	same(t, "outcomes", out.Outcomes, []Outcome{{5, cut, Rejected}})
	same(t, "stats", e.Stats(), Stats{BadResponses: 1, Faults: 2})
}

// TestUnknownResp proves T110 and R256: a RESP with an unknown xid, and a second RESP, are ignored,
// the latter also while the request is pending.
func TestUnknownResp(t *testing.T) {
	e := endpoint(t, nil)
	ask(t, e, 5, cut)
	same(t, "effects", receive(t, e, 6, respOf(t, 1, 0, 0)), Effects{})
	same(t, "state", e.PeerState(1), StateRequested)
	receive(t, e, 5, respOf(t, 0, 0, 1))
	same(t, "effects", receive(t, e, 5, respOf(t, 1, 0, 0)), Effects{})
	same(t, "state", e.PeerState(1), StatePending)
	receive(t, e, 9, updOf(t, cut, true))
	same(t, "effects", receive(t, e, 5, respOf(t, 1, 0, 0)), Effects{})
	same(t, "state", e.PeerState(1), StateSettled)
	same(t, "stats", e.Stats(), Stats{UnknownResponses: 3})
}

// TestNoSupport proves T115 and R258: a peer without the extension answers with error 3. All its
// characteristics have their defaults, and each REQ counts as rejected.
func TestNoSupport(t *testing.T) {
	e := endpoint(t, &Config{Local: Characteristics{ReceiveSize: 8192}})
	e.Init(1)
	ask(t, e, 2, cut, genl)
	ask(t, e, 3, inv)
	same(t, "limit", e.SendLimit(4096), 2048)
	out, ours := e.PeerError(1, 3)
	if !ours || len(out.Outcomes) != 0 {
		t.Errorf("the error for the INIT: ours %t, outcomes %v", ours, out.Outcomes)
	}
	out, ours = e.PeerError(2, 3)
	same(t, "ours", ours, true)
	same(t, "outcomes", out.Outcomes, []Outcome{{2, cut, Rejected}, {2, genl, Rejected}})
	out, _ = e.PeerError(3, 3)
	same(t, "outcomes", out.Outcomes, []Outcome{{3, inv, Rejected}})
	same(t, "peer", e.Peer(), Defaults())
	same(t, "limit", e.SendLimit(8192), 8192)
	same(t, "invalidation", e.MayInvalidate(), false)
	for _, xid := range []uint32{1, 2, 3, 4} {
		if _, ours := e.PeerError(xid, 3); ours {
			t.Errorf("a second error for xid %d is taken", xid)
		}
	}
	if _, err := e.Request(4, inv); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a further request: %v, want ErrUnsupported", err)
	}
}

// TestPeerError proves R258 and R248: another error rejects one REQ and says nothing about support.
func TestPeerError(t *testing.T) {
	e := endpoint(t, nil)
	e.Init(1)
	ask(t, e, 2, genl)
	out, ours := e.PeerError(2, rpcrdma2.ErrSystem)
	same(t, "ours", ours, true)
	same(t, "outcomes", out.Outcomes, []Outcome{{2, genl, Rejected}})
	ask(t, e, 3, genl)
	receive(t, e, 3, respOf(t, 0, 0, 1))
	if _, ours := e.PeerError(3, 3); ours {
		t.Error("an error for an answered request is taken")
	}
	same(t, "state", e.PeerState(wire.IDBackwardSupport), StatePending)
}

// TestRequestRefused proves that a request that cannot be right is not sent: R255 for fixed ones.
func TestRequestRefused(t *testing.T) {
	e := endpoint(t, nil)
	receive(t, e, 1, initOf(t, wire.Subset{1}, RemoteInvalidation(false)))
	ask(t, e, 5, genl)
	for _, c := range []struct {
		name   string
		xid    uint32
		values []Value
		want   error
		text   string
	}{
		{"none", 6, nil, nil, "xchar: a request of no change, expected at least one value"},
		{"unknown", 6, []Value{cut, {4, 1}}, nil, "xchar: found characteristic 4, expected 1, 2 or 3 (section 3, table 1)"},
		{"twice", 6, []Value{cut, cut}, nil, "xchar: receive size 2048: characteristic 1 is in the request already, expected each once"},
		{"fixed", 6, []Value{inv}, ErrFixed, "xchar: remote invalidation true: the peer's characteristic is fixed (section 4.1)"},
		{"xid", 5, []Value{cut}, ErrXID, "xchar: an unanswered request has this transaction ID: 0x5"},
	} {
		_, err := e.Request(c.xid, c.values...)
		if err == nil || err.Error() != c.text || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.text)
		}
	}
	same(t, "limit", e.SendLimit(4096), 4096)
}

// TestRequestBound proves that the number of requests is bounded, unanswered and pending ones
// together, and that a final result makes room.
func TestRequestBound(t *testing.T) {
	e := endpoint(t, nil)
	for n := range uint32(MaxRequests) {
		ask(t, e, n, genl)
		if n%2 == 0 {
			receive(t, e, n, respOf(t, 0, 0, 1))
		}
	}
	_, err := e.Request(99, genl)
	if !errors.Is(err, ErrTooMany) {
		t.Fatalf("%v, want ErrTooMany", err)
	}
	receive(t, e, 100, updOf(t, genl, true))
	for n := range uint32(4) { // each answer makes room
		ask(t, e, 99, genl)
		if _, err := e.Request(98, genl); !errors.Is(err, ErrTooMany) {
			t.Errorf("%v, want ErrTooMany", err)
		}
		receive(t, e, 99, respOf(t, n&1, ^n&1, 0))
	}
	same(t, "requests", len(e.requests), MaxRequests-1)
}

// TestAnswersOutOfOrder proves R249 for the state: while a request is not answered, it decides,
// even if a later one is pending.
func TestAnswersOutOfOrder(t *testing.T) {
	e := endpoint(t, nil)
	ask(t, e, 1, genl)
	ask(t, e, 2, genl)
	receive(t, e, 2, respOf(t, 0, 0, 1))
	same(t, "state", e.PeerState(wire.IDBackwardSupport), StateRequested)
	receive(t, e, 1, respOf(t, 0, 1, 0))
	same(t, "state", e.PeerState(wire.IDBackwardSupport), StatePending)
}
