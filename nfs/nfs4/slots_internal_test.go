package nfs4

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
)

// A COMPOUND takes the lowest free slot and names the highest one in use. No slot above the target
// of the server is taken, and a slot that was given back has its next sequence ID.
func TestSlotsStayBelowTheTarget(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel() // take does not wait
	s := newSlots(70)
	take := func(slot nfs42.SlotID, seq nfs42.SequenceID, highest nfs42.SlotID, ok bool) {
		t.Helper()
		if a, b, c, d := s.take(over); d != ok || ok && (a != slot || b != seq || c != highest) {
			t.Errorf("found %d, %d, %d, %v, expected %d, %d, %d, %v", a, b, c, d, slot, seq, highest, ok)
		}
	}
	for i := range nfs42.SlotID(70) {
		take(i, 1, i, true)
	}
	take(0, 0, 0, false)
	s.give(3, true)
	s.give(65, false)
	take(3, 2, 69, true)
	take(65, 1, 69, true)
	for i := range nfs42.SlotID(70) {
		s.give(i, true)
	}
	s.target(1)
	take(0, 2, 0, true)
	take(1, 2, 1, true)
	take(0, 0, 0, false)
}
