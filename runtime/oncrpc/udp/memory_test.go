package udp

import (
	"net/netip"
	"testing"
)

// A Request takes memory for its Call and the longest reply, and its handler may reserve more. The
// share of its source in two thirds of MaxMemory limits that. All is given back with the answer.
// Another source has memory at the same time.
func TestRequestsTakeMemoryOfTheirSource(t *testing.T) {
	const each = 44 + MaxMessage
	s := newServer(t, nothing, &Config{MaxMemory: 3*8*each + 9})
	other := netip.MustParseAddrPort("192.0.2.2:9")
	for round := range uint64(2) {
		var held []*request
		admit := func(xid uint32, from netip.AddrPort) bool {
			r := s.admit(xid, callTo(xid, 4), from, s.local, nil)
			if r != nil {
				held = append(held, r)
			}
			return r != nil
		}
		for xid := range uint32(8) { // half of 16
			if !admit(xid, farPeer) {
				t.Fatalf("round %d: Request %d was not admitted", round, xid)
			}
		}
		if admit(8, farPeer) || !admit(1, other) || admit(2, other) {
			t.Errorf("round %d: a source has more or less than its share", round)
		}
		if n := s.memory.Used(); n != 9*each {
			t.Errorf("round %d: %d bytes are used, want %d", round, n, 9*each)
		}
		if st := s.Stats(); st.Excess != 2*(round+1) {
			t.Errorf("round %d: %+v", round, st)
		}
		held[0].Drop(nil)
		held[8].Drop(nil)
		if held = held[1:8]; !held[0].Reserve(each/2) || held[0].Reserve(each) || s.memory.Used() != 7*each+each/2 {
			t.Errorf("round %d: %d bytes are used after a part was given back", round, s.memory.Used())
		}
		for _, r := range held {
			r.Drop(nil)
		}
		if n := s.memory.Used(); n != 0 {
			t.Errorf("round %d: %d bytes are used in the end", round, n)
		}
	}
	unlimited := newServer(t, nothing, &Config{MaxMemory: -1})
	r := unlimited.admit(1, callTo(1, 4), farPeer, unlimited.local, nil)
	if !r.Reserve(1 << 30) {
		t.Error("there is a limit")
	}
	r.Drop(nil)
}
