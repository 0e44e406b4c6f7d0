package admission_test

import (
	"math"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// R309: bytes that a Budget refuses are not counted, so that the rest stays available, however
// often it refuses. All of it may be taken.
func TestRefusedBytesStayAvailable(t *testing.T) {
	b := admission.Budget{Most: 100}
	for range 3 {
		if !b.Take(60) || b.Take(41) || b.Left() != 40 {
			t.Fatalf("60 of 100 taken and 41 refused: %d are left, want 40", b.Left())
		}
		if !b.Take(40) || b.Left() != 0 || b.Take(1) || b.Used() != 100 {
			t.Fatalf("all taken: %d are left, and 1 more is to be refused", b.Left())
		}
		b.Give(60)
		b.Give(40)
	}
	if b.Left() != 100 || b.Used() != 0 {
		t.Errorf("all given back: %d are left", b.Left())
	}
}

// Without a limit everything is left.
func TestWithoutALimitEverythingIsLeft(t *testing.T) {
	var b admission.Budget
	if !b.Take(math.MaxInt/2) || !b.Join(admission.Source{}).Take(1, nil) || b.Left() != math.MaxInt {
		t.Errorf("%d are left", b.Left())
	}
}

// A Waiter is called once when its share has room for what it wants, and not when it was forgotten
// or when too little was given back. It may ask again.
func TestWaiterIsCalledWhenThereIsRoom(t *testing.T) {
	b := admission.Budget{Most: 100}
	share := b.Join(admission.Source{Local: true})
	calls := make(map[string]int)
	waiter := func(name string) *admission.Waiter {
		return &admission.Waiter{Call: func() { calls[name]++ }}
	}
	one, large, gone := waiter("one"), waiter("large"), waiter("gone")
	if !share.Take(40, one) {
		t.Fatal("not taken")
	}
	for w, n := range map[*admission.Waiter]int{one: 12, large: 30, gone: 12} {
		if share.Take(n, w) {
			t.Fatal("taken")
		}
	}
	b.Forget(gone)
	share.Give(0)
	b.Give(0)
	share.Give(1)
	if len(calls) != 0 {
		t.Errorf("called %v, and there is no room for 12", calls)
	}
	share.Give(1)
	share.Give(1)
	if calls["one"] != 1 || len(calls) != 1 {
		t.Errorf("called %v, want one once", calls)
	}
	if share.Take(40, one) {
		t.Fatal("taken")
	}
	share.Give(37)
	if calls["one"] != 2 || calls["large"] != 1 {
		t.Errorf("called %v, want one a second time, and large", calls)
	}
}

// A few Waiters whose shares have no room do not hide the others, although one call looks at few.
func TestEachWaiterIsLookedAt(t *testing.T) {
	b := admission.Budget{Most: 1000}
	full, other := b.Join(at(1)), b.Join(at(2))
	if !full.Take(500, nil) || !other.Take(80, nil) {
		t.Fatal("not taken")
	}
	for range 100 {
		full.Take(1, &admission.Waiter{Call: func() { t.Error("called, and its source has half") }})
	}
	called := false
	if other.Take(50, &admission.Waiter{Call: func() { called = true }}) {
		t.Fatal("taken")
	}
	other.Give(50)
	for range 10 {
		if b.Take(1) {
			b.Give(1)
		}
	}
	if !called {
		t.Error("not called")
	}
}

// One call looks at several sources: those without room do not hide one that has it.
func TestSourcesWithoutRoomHideNoOther(t *testing.T) {
	b := admission.Budget{Most: 1000}
	for i := range 5 {
		full := b.Join(at(i))
		full.Take(full.Left(), nil)
		if full.Take(100, &admission.Waiter{Call: func() { t.Error("called, and its source has all that it may") }}) {
			t.Fatal("taken")
		}
	}
	other, called := b.Join(at(9)), false
	n := other.Left()
	if other.Take(n, nil); other.Take(2, &admission.Waiter{Call: func() { called = true }}) {
		t.Fatal("taken")
	}
	if other.Give(4); !called {
		t.Error("not called: the source has given back what it waits for")
	}
}

// A Waiter that asks twice waits once, and one that is forgotten after its call leaves the memory
// to others, however many wait.
func TestForgottenWaiterLeavesMemoryToOthers(t *testing.T) {
	b := admission.Budget{Most: 1000}
	s := b.Join(at(1))
	s.Take(500, nil) // all of it
	called := 0
	waiters := make([]*admission.Waiter, 20) // more than one call looks at
	for i := range waiters {
		waiters[i] = &admission.Waiter{Call: func() { called++ }}
		for range 2 {
			if s.Take(10, waiters[i]) {
				t.Fatal("taken")
			}
		}
	}
	s.Give(300)
	first := called
	if b.Forget(waiters[0]); first == 20 || called != 20 {
		t.Errorf("%d are called, and %d when one is forgotten; want the rest of 20", first, called)
	}
	s.Give(200)
	if called != 20 {
		t.Errorf("%d are called in the end", called)
	}
}
