package admission_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

func TestBucketYieldsItsRateAndNoMoreAtOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	b := admission.Bucket{Rate: 10}
	for i := range 10 {
		if wait := b.Reserve(now); wait != 0 {
			t.Fatalf("token %d of 10 at once: wait %v", i, wait)
		}
	}
	if wait := b.Reserve(now); wait != 100*time.Millisecond {
		t.Errorf("one more: wait %v, want 100ms", wait)
	}
	if wait := b.Reserve(now); wait != 200*time.Millisecond {
		t.Errorf("and one more: wait %v, want 200ms", wait)
	}
	now = now.Add(300 * time.Millisecond)
	if !b.Allow(now) || b.Allow(now) {
		t.Error("after 300 ms there is not exactly one")
	}
	now = now.Add(time.Hour)
	for i := range 11 {
		if got := b.Allow(now); got != (i < 10) {
			t.Errorf("token %d after a rest: %v", i, got)
		}
	}
}

// A token that was not used can be taken again, and a full bucket stays full.
func TestBucketTakesTokensBack(t *testing.T) {
	now := time.Unix(1000, 0)
	b := admission.Bucket{Rate: 2}
	for range 3 {
		if wait := b.Reserve(now); wait != 0 {
			t.Errorf("a token that was given back: wait %v", wait)
		}
		b.Return()
	}
	b.Return() // none was taken
	for i := range 3 {
		if got := b.Allow(now); got != (i < 2) {
			t.Errorf("token %d: %v", i, got)
		}
	}
	b.Return()
	if !b.Allow(now) || b.Allow(now) {
		t.Error("there is not exactly one after one was given back")
	}
}
