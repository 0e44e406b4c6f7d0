package credit_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
)

// A requester's life, step by step (R126 to R131, R135; T3 to T5).
func TestRequester(t *testing.T) {
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
		send, want int // try to send so many, so many may go
	}{
		{"R128: one before the first Reply", func() {}, 5, 1},
		{"R130: a grant of 20", func() { end(1); r.Grant(20) }, 40, 20},
		{"T5: cut to 4 with 20 in flight", func() { r.Grant(4) }, 5, 0},
		{"T5: 16 Replies later still none", func() { end(16) }, 5, 0},
		{"T5: then one for one", func() { end(1) }, 5, 1},
		{"T3: a grant of 0 is 1", func() { end(4); r.Grant(0) }, 5, 1},
		{"T4: a huge one is what we asked for", func() { end(1); r.Grant(0xffffffff) }, 100, 32},
		{"an end too many changes nothing", func() { end(40) }, 100, 32},
	} {
		step.do()
		if got := send(step.send); got != step.want {
			t.Errorf("step %d, %s: %d went, want %d", i, step.name, got, step.want)
		}
		if r.InFlight() > 32 {
			t.Errorf("%d in flight", r.InFlight())
		}
	}
	if r.ZeroGrants() != 1 || r.OverGrants() != 1 || r.Granted() != 32 {
		t.Errorf("counted %d zero and %d over", r.ZeroGrants(), r.OverGrants())
	}
}

// R129, R132, R133; T6.
func TestResponder(t *testing.T) {
	r := credit.NewResponder(4)
	if g := r.Grant(10); g != 1 {
		t.Errorf("grants %d with no Receive posted", g)
	}
	r.Posted(4)
	for _, c := range []struct{ want, grant uint32 }{{0, 1}, {1, 1}, {3, 3}, {4, 4}, {5, 4}, {0xffffffff, 4}} {
		if g := r.Grant(c.want); g != c.grant {
			t.Errorf("asked for %d: grants %d, want %d", c.want, g, c.grant)
		}
	}
	// Three Calls in work keep their share of the promise; a Receive that cannot
	// be posted again costs it.
	for range 3 {
		r.Received()
	}
	if r.Outstanding() != 1 || r.Busy() != 3 || r.Grant(9) != 4 {
		t.Errorf("posted %d, busy %d, grants %d", r.Outstanding(), r.Busy(), r.Grant(9))
	}
	r.Answered()
	if g := r.Grant(9); g != 3 {
		t.Errorf("answered without a new Receive: grants %d, want 3", g)
	}
	r.Dropped()
	r.Dropped()
	if r.Outstanding() != 0 {
		t.Error("fewer than no Receives")
	}
}

// Every interleaving of a requester and a responder, to a depth: a Call always
// finds a Receive, and nobody waits for ever. The accounts are the product's own.
func TestAllInterleavings(t *testing.T) {
	type world struct {
		req   credit.Requester
		resp  credit.Responder
		calls int      // on the wire
		work  int      // at the responder
		back  [6]uint8 // grants on the wire, oldest first
		n     int
	}
	start := world{req: credit.NewRequester(8), resp: credit.NewResponder(5)}
	start.resp.Posted(5)
	seen := map[world]bool{start: true}
	todo := []world{start}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		moves := 0
		try := func(ok bool, move func(*world)) {
			if !ok {
				return
			}
			moves++
			next := w
			move(&next)
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
		try(w.req.Free() && w.calls+w.work+w.n < 6, func(n *world) { n.req.Sent(); n.calls++ })
		try(w.calls > 0, func(n *world) {
			if n.resp.Outstanding() == 0 {
				t.Fatalf("a Call finds no Receive: %+v", w)
			}
			n.resp.Received()
			n.calls--
			n.work++
		})
		for policy := range uint32(6) { // a responder may grant less, at any time
			try(w.work > 0 && w.n < len(w.back), func(n *world) {
				n.resp.Posted(1)
				n.resp.Answered()
				n.work--
				n.back[n.n] = uint8(n.resp.Grant(min(policy, n.req.Want())))
				n.n++
			})
		}
		try(w.n > 0, func(n *world) {
			n.req.Grant(uint32(n.back[0]))
			n.req.Ended()
			copy(n.back[:], n.back[1:])
			n.back[len(n.back)-1] = 0
			n.n--
		})
		if moves == 0 {
			t.Fatalf("nobody can move: %+v", w)
		}
	}
	t.Logf("%d states", len(seen))
	if len(seen) < 10000 {
		t.Errorf("%d states only", len(seen))
	}
}
