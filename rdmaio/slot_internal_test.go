package rdmaio

import (
	"reflect"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// The slot of a Call without chunks is small: a connection has one for each of its credits.
func TestSlotIsSmall(t *testing.T) {
	if n := reflect.TypeFor[slot]().Size(); n > 256 {
		t.Errorf("a slot has %d bytes, want at most 256", n)
	}
	if s := newSlot(); s.offered != nil || s.call.Offer != nil || s.hasRegions() || s.movesData() {
		t.Error("a slot has memory for the peer before its Call offers any")
	}
}

// A Call that is given up while the engine uses it changes nothing that the engine reads.
func TestGivingUpLeavesTheEnginesPart(t *testing.T) {
	s := newSlot()
	s.cancel()
	if s.call.Offer != nil || s.left == nil || s.hasRegions() {
		t.Errorf("a Call that is given up offers %v, its leftover is %v", s.call.Offer, s.left)
	}
}

// What one Call has offered is not left for the next one in its slot.
func TestSlotForgetsWhatItsCallOffered(t *testing.T) {
	var l slots
	l.allow(1)
	s, _ := l.take()
	s.lists().AddWrite(1)
	o := s.withOffered()
	o.left, o.long, o.ownsBuf = new(leftover), []byte{1}, true
	o.regions = append(o.regions, callRegion{Region: mrpool.Region{}, chunk: 0})[:0]
	l.put(s, false)
	again, _ := l.take()
	again.rpc = &Call{}
	again.rpc.Inline = make([]byte, 40)
	again.reset()
	if again != s || again.offered != o {
		t.Fatal("the slot is not used again")
	}
	if o.left != nil || o.long != nil || o.ownsBuf || again.hasRegions() {
		t.Errorf("the next Call has %+v", *o)
	}
}
