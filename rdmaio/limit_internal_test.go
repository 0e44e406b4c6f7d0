package rdmaio

import "testing"

// R309: bytes that a budget refuses are not counted, so that it still has what was left, however often it refused.
func TestBudget(t *testing.T) {
	b := budget{most: 100}
	for range 3 {
		if !b.take(60) || b.take(41) || b.left() != 40 {
			t.Fatalf("60 of 100 taken and 41 refused: %d are left, want 40", b.left())
		}
		if !b.take(40) || b.left() != 0 || b.take(1) {
			t.Fatalf("all taken: %d are left, and 1 more is to be refused", b.left())
		}
		b.give(60)
		b.give(40)
	}
	if b.left() != 100 {
		t.Errorf("all given back: %d are left", b.left())
	}
}
