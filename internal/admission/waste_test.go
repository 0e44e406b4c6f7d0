package admission_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// replied returns a Ticket whose reply has n bytes.
func replied(s *admission.Share, n int) *admission.Ticket {
	t := s.Ticket(0)
	t.Reply(n)
	return &t
}

// A reply that was not sent counts twice until the garbage collector has run: in its share's part
// of the memory, or in the reserve. Short replies, those that were sent, and bounds of handlers
// that made none do not count.
func TestWasteCountsUntilItIsCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n = 64 << 10
	b := admission.Budget{Most: 64 * n, Reply: 16 * n}
	s := b.Join(at(1))
	all := b.Left()
	bound := s.Ticket(0)
	bound.Admit(n, nil)
	bound.Waste()
	replied(s, n).End()
	replied(s, n-1).Waste()
	if b.Left() != all {
		t.Errorf("%d bytes are taken, want none", all-b.Left())
	}
	replied(s, n).Waste()
	replied(s, n+1).Waste() // after the mark of the first
	if b.Left() != all-4*n-2 || b.Used() != 0 {
		t.Errorf("%d bytes are taken and %d used, want %d and 0", all-b.Left(), b.Used(), 4*n+2)
	}
	for range 2 {
		for left := b.Left(); b.Left() == left; {
			runtime.GC() // the cleanup runs later
		}
	}
	if b.Left() != all {
		t.Errorf("%d bytes are taken after the collection", all-b.Left())
	}
	replied(s, 32*n).Waste() // as much as there is for shares: it is in the reserve
	if b.Left() != all || b.Used() != 0 {
		t.Errorf("%d bytes of shares are taken and %d used, want none", all-b.Left(), b.Used())
	}
	t1 := s.Ticket(0)
	if t1.Admit(-1, nil) {
		t.Error("a handler runs although the reserve is full of waste")
	}
	for !t1.Admit(-1, nil) {
		runtime.GC()
	}
	t1.End()
}

// While something waits, the garbage collector is made to run, for bytes of a share and for the
// reserve, whether the waste or the wait comes first.
func TestWaitersLetWasteBeCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n = 64 << 10
	for range 3 {
		b := admission.Budget{Most: 64 * n, Reply: 16 * n}
		s := b.Join(at(1))
		woken := make(chan struct{}, 9)
		w := &admission.Waiter{Call: func() { woken <- struct{}{} }}
		replied(s, 15*n).Waste()
		for !s.Take(8*n, w) {
			<-woken
		}
		s.Give(8 * n)
		b.Forget(w)

		last := replied(s, 33*n) // in the reserve
		t1 := s.Ticket(0)
		if t1.Admit(-1, w) {
			t.Fatal("a handler runs although the reserve is full")
		}
		last.Waste()
		<-woken
		if !t1.Admit(-1, nil) {
			t.Error("the handler has no memory")
		}
		t1.End()
		s.Leave()
	}
}

// Those that wait get what a run of the garbage collector has freed without their asking, also if
// another one has noticed it first.
func TestWaitersGetWhatWasCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n = 64 << 10
	b := admission.Budget{Most: 64 * n, Reply: 32 * n}
	s := b.Join(at(1))
	replied(s, 33*n).Waste()
	woken := make(chan struct{}, 9)
	t1 := s.Ticket(0)
	w := &admission.Waiter{Call: func() { woken <- struct{}{} }}
	if t1.Admit(-1, w) {
		t.Fatal("a handler runs although the reserve is full of waste")
	}
	runtime.GC()
	_ = b.Left() // which may notice
	<-woken
	t1.End()
}
