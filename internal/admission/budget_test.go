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

// Without a limit everything is left. Replies may take more than there is; then nothing is left.
func TestLeftIsNeverLessThanNothing(t *testing.T) {
	b := admission.Budget{Most: 100}
	b.AddReply(101)
	if b.Left() != 0 || b.Take(1) || b.Used() != 101 {
		t.Errorf("%d are left, %d used", b.Left(), b.Used())
	}
	if b = (admission.Budget{}); !b.Take(math.MaxInt/2) || !b.Join(admission.Source{}).Take(1, nil) || b.Left() != math.MaxInt {
		t.Errorf("without a limit %d are left", b.Left())
	}
}

// A Waiter is called once when memory was given back, for Requests or replies, and not when it was
// forgotten. It may ask again.
func TestWaiterIsCalledWhenMemoryIsGivenBack(t *testing.T) {
	b := admission.Budget{Most: 100}
	share := b.Join(admission.Source{Local: true})
	calls := make(map[string]int)
	waiter := func(name string) *admission.Waiter {
		return &admission.Waiter{Call: func() { calls[name]++ }}
	}
	one, other, gone := waiter("one"), waiter("other"), waiter("gone")
	if !share.Take(40, one) {
		t.Fatal("not taken")
	}
	for _, w := range []*admission.Waiter{one, other, gone} {
		if share.Take(40, w) {
			t.Fatal("taken")
		}
	}
	b.Forget(gone)
	share.Give(0)
	b.Give(0)
	if len(calls) != 0 {
		t.Errorf("called %v, and nothing was given back", calls)
	}
	share.Give(1)
	share.Give(1)
	if calls["one"] != 1 || calls["other"] != 1 || calls["gone"] != 0 {
		t.Errorf("called %v, want one and other once", calls)
	}
	if share.Take(40, one) {
		t.Fatal("taken")
	}
	b.AddReply(1)
	share.GiveBoth(0, 1)
	if calls["one"] != 2 || calls["other"] != 1 {
		t.Errorf("called %v, want one a second time", calls)
	}
}
