package credit_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// A requester follows each grant, from the initial one on (R126 to R131, R135, R136; T3 to T5).
func TestRequesterFollowsEachGrant(t *testing.T) {
	r := credit.NewRequester(32)
	if r.Want() != 32 {
		t.Errorf("asks for %d", r.Want())
	}
	send := func(n int) (sent int) {
		for r.Free() && sent < n {
			r.Sent()
			sent++
		}
		return sent
	}
	end := func(n int) {
		for range n {
			r.Ended()
		}
	}
	for i, step := range []struct {
		name       string
		do         func()
		send, want int // Calls to send, Calls that may be sent
	}{
		{"R128: one before the first Reply", func() {}, 5, 1},
		{"R130: a grant of 20", func() { end(1); r.Grant(20) }, 40, 20},
		{"T5: cut to 4 with 20 in flight", func() { r.Grant(4) }, 5, 0},
		{"T5: 16 Replies later still none", func() { end(16) }, 5, 0},
		{"T5: then one for one", func() { end(1) }, 5, 1},
		{"T3: a grant of 0 is 1", func() { end(4); r.Grant(0) }, 5, 1},
		{"T4: a huge grant is the limit", func() { end(1); r.Grant(0xffffffff) }, 100, 32},
		{"an Ended too many changes nothing", func() { end(40) }, 100, 32},
	} {
		step.do()
		if got := send(step.send); got != step.want {
			t.Errorf("step %d, %s: %d sent, want %d", i, step.name, got, step.want)
		}
		if r.InFlight() > 32 {
			t.Errorf("%d in flight", r.InFlight())
		}
	}
	if r.ZeroGrants() != 1 || r.OverGrants() != 1 || r.Granted() != 32 {
		t.Errorf("counted %d zero and %d over", r.ZeroGrants(), r.OverGrants())
	}
}

// A grant is at most the number asked for, the limit, and the number of Receives (R129, R132, R133;
// T6).
func TestGrantKeepsToTheReceives(t *testing.T) {
	r := credit.NewResponder(4, 0)
	if g := r.Grant(10); g != 1 {
		t.Errorf("grants %d with no Receive posted", g)
	}
	r.Posted(4)
	for _, c := range []struct{ want, grant uint32 }{{0, 1}, {1, 1}, {3, 3}, {4, 4}, {5, 4}, {0xffffffff, 4}} {
		if g := r.Grant(c.want); g != c.grant {
			t.Errorf("asked for %d: grants %d, want %d", c.want, g, c.grant)
		}
	}
	// Three busy Calls count as Receives. A Call that is answered without a new Receive does not.
	for i := range 3 {
		if r.Taken(); !r.Accept() {
			t.Errorf("Call %d was not accepted", i)
		}
	}
	if r.Outstanding() != 1 || r.Busy() != 3 || r.Grant(9) != 4 {
		t.Errorf("posted %d, busy %d, grants %d", r.Outstanding(), r.Busy(), r.Grant(9))
	}
	r.Answered()
	if g := r.Grant(9); g != 3 {
		t.Errorf("answered without a new Receive: grants %d, want 3", g)
	}
	r.Taken()
	r.Taken()
	if r.Outstanding() != 0 {
		t.Error("fewer than no Receives")
	}
}

// R134, R270, R271, R283: reserved Receives are not promised. Calls beyond the limit are not
// accepted, with any number of Receives.
func TestReservedReceivesAreNotPromised(t *testing.T) {
	r := credit.NewResponder(4, 3)
	for _, c := range []struct{ posted, grant int }{{2, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 4}} {
		r.Posted(c.posted)
		if g := r.Grant(99); g != uint32(c.grant) {
			t.Errorf("%d Receives, 3 of them reserved: grants %d, want %d", r.Outstanding(), g, c.grant)
		}
	}
	for i := range 6 {
		if r.Taken(); r.Accept() != (i < 4) {
			t.Errorf("Call %d: accepted %v", i, i >= 4)
		}
	}
	none := credit.NewResponder(0, 8)
	if none.Accept() {
		t.Error("a Call was accepted where none is served")
	}
}
