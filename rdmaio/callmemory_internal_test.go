package rdmaio

import (
	"encoding/binary"
	"testing"
)

// isReady reports whether a waiter has its memory.
func (w *replyWaiter) isReady() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// Memory for replies goes to Calls in their order, and a Call alone gets what it needs.
func TestReplyMemoryIsServedInOrder(t *testing.T) {
	m := replyMemory{most: 100}
	for _, n := range []int{60, 40} {
		if m.begin(n) != nil {
			t.Fatalf("%d bytes of 100 are not there", n)
		}
	}
	large, small, last := m.begin(500), m.begin(1), m.begin(99)
	for i, w := range []*replyWaiter{large, small, last} {
		if w == nil || w.isReady() {
			t.Fatalf("Call %d does not wait", i)
		}
	}
	if m.release(0); large.isReady() || m.used != 100 {
		t.Errorf("nothing was given back, and %d bytes are used", m.used)
	}
	if m.release(60); large.isReady() || small.isReady() {
		t.Error("a Call that needs more than the limit is not alone, or was passed by")
	}
	if m.release(40); !large.isReady() || small.isReady() || m.used != 500 {
		t.Errorf("the oldest Call waits, or a newer one does not; %d bytes are used", m.used)
	}
	if m.release(500); !small.isReady() || !last.isReady() || m.used != 100 {
		t.Errorf("Calls wait that fit; %d bytes are used", m.used)
	}
	if w := m.begin(1); w == nil {
		t.Error("more than the limit is used")
	} else if m.leave(w); len(m.queue) != 0 {
		t.Error("a Call that left is in the queue")
	}
	if m.release(99); m.begin(99) != nil {
		t.Error("memory is lost with a Call that left")
	}
}

// A Call that leaves the queue lets the later ones have memory, and returns what it was given just
// before it left.
func TestReplyMemoryOfCallThatLeaves(t *testing.T) {
	m := replyMemory{most: 100}
	m.begin(50)
	large, small := m.begin(90), m.begin(50)
	if m.leave(large); !small.isReady() || m.used != 100 {
		t.Errorf("the Call behind one that left waits; %d bytes are used", m.used)
	}
	late := m.begin(70)
	m.release(50)
	m.release(50)
	if !late.isReady() {
		t.Fatal("a Call waits although nothing is used")
	}
	next := m.begin(60)
	if m.leave(late); !next.isReady() || m.used != 60 {
		t.Errorf("what a Call got as it left is lost; %d bytes are used", m.used)
	}
}

// The largest replies are remembered for a limited number of procedures.
func TestReplySizesAreBounded(t *testing.T) {
	var r replySizes
	call := func(proc uint32, reply int) *Call {
		c := &Call{Message: Message{Inline: make([]byte, 40)}}
		binary.BigEndian.PutUint32(c.Inline[20:], proc)
		c.Reply.Message = make([]byte, reply)
		return c
	}
	for proc := range uint32(mostProcedures + 10) {
		r.saw(call(proc, 3000))
	}
	r.saw(call(0, 600))
	r.saw(call(1, 7000))
	for proc, want := range map[uint32]int{0: 3072, 1: 7168, mostProcedures - 1: 3072, mostProcedures: 0} {
		if got := r.guess(call(proc, 0)); got != want {
			t.Errorf("procedure %d: %d, want %d", proc, got, want)
		}
	}
}
