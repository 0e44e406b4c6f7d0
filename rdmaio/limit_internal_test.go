package rdmaio

import "testing"

// R309: bytes that a budget refuses are not counted, so that the rest stays available, however
// often it refuses.
func TestBudget(t *testing.T) {
	b := budget{most: 100}
	for range 3 {
		if !b.reserve(60) || b.reserve(41) || b.left() != 40 {
			t.Fatalf("60 of 100 taken and 41 refused: %d are left, want 40", b.left())
		}
		if !b.reserve(40) || b.left() != 0 || b.reserve(1) {
			t.Fatalf("all taken: %d are left, and 1 more is to be refused", b.left())
		}
		b.release(60)
		b.release(40)
	}
	if b.left() != 100 {
		t.Errorf("all given back: %d are left", b.left())
	}
}
