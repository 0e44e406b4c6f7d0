package xchar

import (
	"testing"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
)

// TestUpdStates proves T111, R249, R250 and R251: each state of a peer's characteristic, and a UPD
// without and with the clear flag, with an unchanged, another and the requested value. Only the
// clear flag completes a pending request, and no UPD completes one that is not answered. T112 and
// R255: a UPD never changes a fixed one.
func TestUpdStates(t *testing.T) {
	const old, other, wanted = 4096, 5000, 2048
	for _, c := range []struct {
		state  State
		value  uint32
		clear  bool
		after  State
		now    uint32 // the value
		limit  uint32
		result Result // 0 if the request stays pending
		fixed  uint64 // counter
	}{
		{state: StateSettled, value: old, after: StateSettled, now: old, limit: old},
		{state: StateSettled, value: old, clear: true, after: StateSettled, now: old, limit: old},
		{state: StateSettled, value: other, after: StateSettled, now: other, limit: other},
		{state: StateSettled, value: other, clear: true, after: StateSettled, now: other, limit: other},
		{state: StateSettled, value: wanted, after: StateSettled, now: wanted, limit: wanted},
		{state: StateSettled, value: wanted, clear: true, after: StateSettled, now: wanted, limit: wanted},

		{state: StateFixed, value: old, after: StateFixed, now: old, limit: old},
		{state: StateFixed, value: old, clear: true, after: StateFixed, now: old, limit: old},
		{state: StateFixed, value: other, after: StateFixed, now: old, limit: old, fixed: 1},
		{state: StateFixed, value: other, clear: true, after: StateFixed, now: old, limit: old, fixed: 1},
		{state: StateFixed, value: wanted, after: StateFixed, now: old, limit: old, fixed: 1},
		{state: StateFixed, value: wanted, clear: true, after: StateFixed, now: old, limit: old, fixed: 1},

		{state: StateRequested, value: old, after: StateRequested, now: old, limit: wanted},
		{state: StateRequested, value: old, clear: true, after: StateRequested, now: old, limit: wanted},
		{state: StateRequested, value: other, after: StateRequested, now: other, limit: wanted},
		{state: StateRequested, value: other, clear: true, after: StateRequested, now: other, limit: wanted},
		{state: StateRequested, value: wanted, after: StateRequested, now: wanted, limit: wanted},
		{state: StateRequested, value: wanted, clear: true, after: StateRequested, now: wanted, limit: wanted},

		{state: StatePending, value: old, after: StatePending, now: old, limit: wanted},
		{state: StatePending, value: old, clear: true, after: StateSettled, now: old, limit: old, result: Rejected},
		{state: StatePending, value: other, after: StatePending, now: other, limit: wanted},
		{state: StatePending, value: other, clear: true, after: StateSettled, now: other, limit: other, result: Rejected},
		{state: StatePending, value: wanted, after: StatePending, now: wanted, limit: wanted},
		{state: StatePending, value: wanted, clear: true, after: StateSettled, now: wanted, limit: wanted, result: Done},
	} {
		name := c.state.String() + " " + ReceiveSize(c.value).String()
		if c.clear {
			name += " clear"
		}
		t.Run(name, func(t *testing.T) {
			e := endpoint(t, nil)
			var fixed wire.Subset
			if c.state == StateFixed {
				fixed = wire.Subset{1}
			}
			receive(t, e, 1, initOf(t, fixed, ReceiveSize(old)))
			if c.state == StateRequested || c.state == StatePending {
				ask(t, e, 2, ReceiveSize(wanted))
			}
			if c.state == StatePending {
				receive(t, e, 2, respOf(t, 0, 0, 1))
			}
			same(t, "state before", e.PeerState(1), c.state)

			// R250: the xid of a UPD has no tie to a REQ, even if it is the same.
			out := receive(t, e, 2, updOf(t, ReceiveSize(c.value), c.clear))
			same(t, "state", e.PeerState(1), c.after)
			same(t, "value", e.Peer().ReceiveSize, c.now)
			same(t, "limit", e.SendLimit(1<<20), c.limit)
			var want Effects
			if c.now != old {
				want.Changed = []Value{ReceiveSize(c.now)}
			}
			if c.result != 0 {
				want.Outcomes = []Outcome{{2, ReceiveSize(wanted), c.result}}
			}
			same(t, "effects", out, want)
			same(t, "stats", e.Stats(), Stats{FixedChanges: c.fixed})
		})
	}
}

// TestFixedDone proves R255 for a RESP: a change of a fixed characteristic counts as rejected.
func TestFixedDone(t *testing.T) {
	e := endpoint(t, nil)
	ask(t, e, 2, cut, genl)
	receive(t, e, 1, initOf(t, wire.Subset{1}, ReceiveSize(4096)))
	out := receive(t, e, 2, respOf(t, 3, 0, 0))
	same(t, "outcomes", out.Outcomes, []Outcome{{2, cut, Rejected}, {2, genl, Done}})
	same(t, "peer", e.Peer(), Characteristics{4096, false, wire.BackwardGeneral})
	same(t, "stats", e.Stats(), Stats{FixedChanges: 1})

	// A UPD that would change it is ignored as a whole, with its clear flag.
	e = endpoint(t, nil)
	ask(t, e, 2, cut)
	receive(t, e, 2, respOf(t, 0, 0, 1))
	receive(t, e, 1, initOf(t, wire.Subset{1}, ReceiveSize(4096)))
	same(t, "effects", receive(t, e, 9, updOf(t, cut, true)), Effects{})
	same(t, "limit", e.SendLimit(4096), 2048)
	out = receive(t, e, 9, updOf(t, ReceiveSize(4096), true))
	same(t, "outcomes", out.Outcomes, []Outcome{{2, cut, Rejected}})
}

// TestPendingOrder proves R249 and R250 for several pending requests: each clear flag completes the
// oldest one for its characteristic.
func TestPendingOrder(t *testing.T) {
	e := endpoint(t, nil)
	ask(t, e, 1, ReceiveSize(3000), inv)
	ask(t, e, 2, ReceiveSize(2000))
	receive(t, e, 1, respOf(t, 0, 0, 3))
	same(t, "limit", e.SendLimit(4096), 2000)
	out := receive(t, e, 9, updOf(t, ReceiveSize(3000), true)) // the second request is not answered
	same(t, "outcomes", out.Outcomes, []Outcome{{1, ReceiveSize(3000), Done}})
	same(t, "limit", e.SendLimit(4096), 2000)
	receive(t, e, 2, respOf(t, 0, 0, 1))
	out = receive(t, e, 9, updOf(t, inv, true))
	same(t, "outcomes", out.Outcomes, []Outcome{{1, inv, Done}})
	out = receive(t, e, 9, updOf(t, ReceiveSize(3000), true))
	same(t, "outcomes", out.Outcomes, []Outcome{{2, ReceiveSize(2000), Rejected}})
	same(t, "limit", e.SendLimit(4096), 3000)
	same(t, "effects of clear with nothing pending", receive(t, e, 9, updOf(t, inv, true)), Effects{})
}
