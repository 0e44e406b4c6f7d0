package xchar

import (
	"errors"
	"testing"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
)

// TestLargerSizeIsAnnouncedInTime proves T114 and R237: a larger receive size is announced when the
// last smaller Receive is gone, and not before, whether the peer requested it or not.
func TestLargerSizeIsAnnouncedInTime(t *testing.T) {
	for _, requested := range []bool{false, true} {
		e := endpoint(t, &Config{Policy: &answers{decision: Accept}})
		var out Effects
		if requested {
			out = receive(t, e, 1, reqOf(t, ReceiveSize(8192)))
			wantSent(t, out, &wire.Resp{Rejected: wire.Subset{0}, Pending: wire.Subset{1}})
			same(t, "state", e.OwnState(1), StatePending)
		} else {
			var err error
			out, err = e.Set(ReceiveSize(8192))
			same(t, "error", err, nil)
			wantSent(t, out)
			same(t, "state", e.OwnState(1), StateSettled)
		}
		same(t, "Receives to post", out.Post, 8192)
		same(t, "receive size", e.Own().ReceiveSize, 4096)
		same(t, "effects with old Receives", e.ReceivesReplaced(8191), Effects{})
		out = e.ReceivesReplaced(8192)
		wantSent(t, out, upd(ReceiveSize(8192), requested))
		same(t, "receive size", e.Own().ReceiveSize, 8192)
		same(t, "state", e.OwnState(1), StateSettled)
		same(t, "effects of a second time", e.ReceivesReplaced(8192), Effects{})
	}
}

// TestRaiseChanged proves R237 where another change comes before the announcement: the Receives to
// post follow, and only the last size is announced.
func TestRaiseChanged(t *testing.T) {
	rejected := &wire.Resp{Rejected: wire.Subset{1}}
	done := &wire.Resp{Rejected: wire.Subset{0}, Done: wire.Subset{1}}
	pending := &wire.Resp{Rejected: wire.Subset{0}, Pending: wire.Subset{1}}
	unchanged := upd(ReceiveSize(4096), true)
	for _, c := range []struct {
		name     string
		asked    bool // the peer requested the first raise, to 8192
		decision Decision
		size     uint32
		sent     []any
		post     uint32
		later    []any // when all Receives have 16384 bytes
	}{
		{"requested, then a cut", true, Accept, 2048, []any{unchanged, done}, 2048, nil},
		{"requested, then the present size", true, Accept, 4096, []any{unchanged, done}, 4096, nil},
		{"requested, then more", true, Accept, 9000, []any{unchanged, pending}, 9000, []any{upd(ReceiveSize(9000), true)}},
		{"requested, then deferred", true, Defer, 9000, []any{unchanged, pending}, 4096, nil},
		{"requested, then rejected", true, Reject, 9000, []any{rejected}, 0, []any{upd(ReceiveSize(8192), true)}},
		{"set, then a cut", false, Accept, 2048, []any{done}, 2048, nil},
		{"set, then the present size", false, Accept, 4096, []any{done}, 0, []any{upd(ReceiveSize(8192), false)}},
		{"set, then more", false, Accept, 9000, []any{pending}, 9000, []any{upd(ReceiveSize(9000), true)}},
		{"set, then deferred", false, Defer, 9000, []any{pending}, 0, []any{upd(ReceiveSize(8192), false)}},
		{"set, then rejected", false, Reject, 9000, []any{rejected}, 0, []any{upd(ReceiveSize(8192), false)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policy := &answers{decision: Accept}
			e := endpoint(t, &Config{Policy: policy})
			if c.asked {
				receive(t, e, 1, reqOf(t, ReceiveSize(8192)))
			} else if _, err := e.Set(ReceiveSize(8192)); err != nil {
				t.Fatal(err)
			}
			policy.decision = c.decision
			out := receive(t, e, 2, reqOf(t, ReceiveSize(c.size)))
			wantSent(t, out, c.sent...)
			same(t, "Receives to post", out.Post, c.post)
			wantSent(t, e.ReceivesReplaced(16384), c.later...)
		})
	}
}

// TestRaiseDropped proves that an endpoint can drop a raise before it is announced: its own with
// Set, a requested one with Settle. Set does not replace a requested one.
func TestRaiseDropped(t *testing.T) {
	e := endpoint(t, &Config{Policy: &answers{decision: Accept}})
	for _, n := range []uint32{8192, 6000, 4096} {
		out, err := e.Set(ReceiveSize(n))
		same(t, "error", err, nil)
		same(t, "Receives to post", out, Effects{Post: n})
	}
	same(t, "effects", e.ReceivesReplaced(8192), Effects{})

	receive(t, e, 1, reqOf(t, ReceiveSize(8192)))
	if _, err := e.Set(ReceiveSize(9000)); !errors.Is(err, ErrRaising) {
		t.Errorf("%v, want ErrRaising", err)
	}
	out, err := e.Settle(wire.IDReceiveBufferSize, true)
	same(t, "error", err, nil)
	same(t, "effects of a second decision", out, Effects{})
	out, err = e.Settle(wire.IDReceiveBufferSize, false)
	same(t, "error", err, nil)
	wantSent(t, out, upd(ReceiveSize(4096), true))
	same(t, "Receives to post", out.Post, 4096)
	same(t, "effects", e.ReceivesReplaced(8192), Effects{})
}

// TestDeferredRaise proves R237 and R249 for a raise that is deferred: it is announced after the
// decision and after the Receives are posted. R238: if this side's own raise came first, the size
// is not reduced to the peer's request, because that was not a cut when the peer requested it.
func TestDeferredRaise(t *testing.T) {
	e := endpoint(t, &Config{Policy: &answers{decision: Defer}})
	receive(t, e, 1, reqOf(t, ReceiveSize(8192)))
	same(t, "effects before the decision", e.ReceivesReplaced(8192), Effects{})
	out, err := e.Settle(wire.IDReceiveBufferSize, true)
	same(t, "error", err, nil)
	same(t, "effects of the decision", out, Effects{Post: 8192})
	wantSent(t, e.ReceivesReplaced(8192), upd(ReceiveSize(8192), true))

	receive(t, e, 2, reqOf(t, ReceiveSize(9000)))
	if _, err := e.Set(ReceiveSize(16384)); err != nil {
		t.Fatal(err)
	}
	wantSent(t, e.ReceivesReplaced(16384), upd(ReceiveSize(16384), false))
	same(t, "state", e.OwnState(1), StatePending)
	out, err = e.Settle(wire.IDReceiveBufferSize, true)
	same(t, "error", err, nil)
	wantSent(t, out, upd(ReceiveSize(16384), true))
	same(t, "receive size", e.Own().ReceiveSize, 16384)

	// A cut that was one when it was requested is made, whatever came between.
	receive(t, e, 3, reqOf(t, ReceiveSize(2048)))
	if _, err := e.Set(ReceiveSize(20000)); err != nil {
		t.Fatal(err)
	}
	e.ReceivesReplaced(20000)
	out, err = e.Settle(wire.IDReceiveBufferSize, true)
	same(t, "error", err, nil)
	wantSent(t, out, upd(ReceiveSize(2048), true))
	same(t, "Receives to post", out.Post, 2048)
}

// TestCutLimit proves T113 and R238 at the endpoint that requests the cut: the lower size holds at
// once, and until a reject or an update that clears the request.
func TestCutLimit(t *testing.T) {
	start := func(t *testing.T) *Endpoint {
		e := endpoint(t, nil)
		receive(t, e, 1, initOf(t, nil, ReceiveSize(8192)))
		same(t, "limit before", e.SendLimit(4096), 8192)
		ask(t, e, 2, cut)
		same(t, "limit after the request", e.SendLimit(4096), 2048)
		return e
	}
	for _, c := range []struct {
		name  string
		steps func(e *Endpoint)
		limit uint32
	}{
		{"done", func(e *Endpoint) { e.Receive(2, respOf(t, 1, 0, 0)) }, 2048},
		{"rejected", func(e *Endpoint) { e.Receive(2, respOf(t, 0, 1, 0)) }, 8192},
		{"error", func(e *Endpoint) { e.PeerError(2, 3) }, 8192},
		{"pending", func(e *Endpoint) { e.Receive(2, respOf(t, 0, 0, 1)) }, 2048},
		{"larger update before the answer", func(e *Endpoint) { e.Receive(9, updOf(t, ReceiveSize(9000), false)) }, 2048},
		{"pending, larger update", func(e *Endpoint) {
			e.Receive(2, respOf(t, 0, 0, 1))
			e.Receive(9, updOf(t, ReceiveSize(9000), false))
		}, 2048},
		{"pending, larger update, cleared", func(e *Endpoint) {
			e.Receive(2, respOf(t, 0, 0, 1))
			e.Receive(9, updOf(t, ReceiveSize(9000), true))
		}, 9000},
		{"pending, cleared", func(e *Endpoint) {
			e.Receive(2, respOf(t, 0, 0, 1))
			e.Receive(9, updOf(t, ReceiveSize(8192), true))
		}, 8192},
		{"pending, made", func(e *Endpoint) {
			e.Receive(2, respOf(t, 0, 0, 1))
			e.Receive(9, updOf(t, cut, true))
		}, 2048},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := start(t)
			c.steps(e)
			same(t, "limit", e.SendLimit(4096), c.limit)
		})
	}
}

// TestLimitWithoutInit proves R238 towards a peer that has not described itself: the limit of
// version 2 and the requested size hold together.
func TestLimitWithoutInit(t *testing.T) {
	e := endpoint(t, nil)
	ask(t, e, 2, ReceiveSize(6000))
	same(t, "small limit of version 2", e.SendLimit(4096), 4096)
	same(t, "large limit of version 2", e.SendLimit(8192), 6000)
	receive(t, e, 1, initOf(t, nil, ReceiveSize(0)))
	same(t, "limit of a peer that announces 0", e.SendLimit(8192), 0)
}

// TestPeerBackward proves R236 and R241: the default, and a server whose support is unknown.
func TestPeerBackward(t *testing.T) {
	for _, c := range []struct {
		server bool
		stated bool
		level  wire.BackwardSupport
		want   wire.BackwardSupport
		probe  bool
	}{
		{false, false, 0, wire.BackwardSizeLimited, false},
		{true, false, 0, wire.BackwardSizeLimited, false},
		{false, true, wire.BackwardUnknown, wire.BackwardNone, true},
		{true, true, wire.BackwardUnknown, wire.BackwardUnknown, false},
		{false, true, wire.BackwardNone, wire.BackwardNone, false},
		{false, true, wire.BackwardGeneral, wire.BackwardGeneral, false},
	} {
		e := endpoint(t, &Config{Server: c.server})
		if c.stated {
			receive(t, e, 1, initOf(t, nil, Backward(c.level)))
		}
		level, probe := e.PeerBackward()
		if level != c.want || probe != c.probe {
			t.Errorf("%+v: %v, %t", c, level, probe)
		}
	}
}

// TestMayInvalidate proves R235 and R240 for the decision: plain Send by default and on false.
func TestMayInvalidate(t *testing.T) {
	e := endpoint(t, nil)
	same(t, "default", e.MayInvalidate(), false)
	for _, accepted := range []bool{true, false, true} {
		receive(t, e, 1, updOf(t, RemoteInvalidation(accepted), false))
		same(t, "after a UPD", e.MayInvalidate(), accepted)
	}
}
