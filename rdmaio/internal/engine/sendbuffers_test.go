package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// granted returns a requester with one send buffer and 8 credits, all of them unused.
func granted(t *testing.T) *bench {
	b := newBorrowing(t, engine.Requester, 8, 0, 64, 1)
	b.call(call(1))
	if b.wanted != 0 {
		t.Fatalf("%d buffers asked for with one that is free", b.wanted)
	}
	b.receive(0, reply(t, 1, 8))
	b.complete()
	return b
}

// An engine borrows send buffers when messages wait for nothing else, one for each message, and
// returns those that it did not use for a while.
func TestSendBuffersAreBorrowed(t *testing.T) {
	b := granted(t)
	burst := func(from, n uint32) {
		for x := range n {
			b.call(call(from + x))
		}
	}
	burst(10, 10)
	if len(b.sent) != 2 || b.wanted != 1 {
		t.Fatalf("%d sent, %d asked for, want the second Call out and one buffer for the third", len(b.sent), b.wanted)
	}
	b.addBuffers(1)
	if len(b.sent) != 3 || b.wanted != 6 {
		t.Fatalf("%d sent, %d asked for, want 6: there are 8 credits", len(b.sent), b.wanted)
	}
	b.addBuffers(2) // there is no more memory
	if len(b.sent) != 5 || b.wanted != 4 {
		t.Fatalf("%d sent, %d asked for", len(b.sent), b.wanted)
	}
	b.addBuffers(4)
	if len(b.sent) != 9 || b.wanted != 0 {
		t.Fatalf("%d sent, %d asked for with all credits in use", len(b.sent), b.wanted)
	}
	for x := range uint32(8) {
		b.receive(int(x), reply(t, 10+x, 8))
		b.settle()
	}
	for x := range uint32(2) {
		b.receive(int(x), reply(t, 18+x, 8))
		b.settle()
	}
	timer := func() {
		t.Helper()
		if b.at == 0 {
			t.Fatal("no deadline")
		}
		b.now = b.at
		b.step(engine.Event{Kind: engine.EventTimer})
	}
	timer()
	if len(b.returned) != 0 {
		t.Errorf("%d returned that were in use recently", len(b.returned))
	}
	burst(20, 3)
	for x := range uint32(3) {
		b.receive(int(x), reply(t, 20+x, 8))
		b.settle()
	}
	timer()
	if len(b.returned) != 5 {
		t.Errorf("%d given back, want 5: three of 8 were in use", len(b.returned))
	}
	timer()
	if len(b.returned) != 7 || b.at != 0 {
		t.Errorf("%d given back, deadline %v: want all that were borrowed, and none", len(b.returned), b.at)
	}
	burst(30, 8) // and so on
	for b.wanted > 0 {
		b.addBuffers(b.wanted)
	}
	if len(b.sent) != 1+10+3+8 {
		t.Errorf("%d sent", len(b.sent))
	}
}

// Without memory messages wait for a buffer that is in use, and the engine does not ask again until
// one is free.
func TestBorrowNothing(t *testing.T) {
	b := granted(t)
	b.call(call(2))
	b.call(call(3))
	b.addBuffers(0)
	b.call(call(4))
	if len(b.sent) != 2 || b.wanted != 0 {
		t.Fatalf("%d sent, %d wanted although there is no memory", len(b.sent), b.wanted)
	}
	b.complete()
	if len(b.sent) != 3 || b.wanted != 1 {
		t.Fatalf("%d sent, %d asked for", len(b.sent), b.wanted)
	}
	b.addBuffers(0)
	b.complete()
	if len(b.sent) != 4 {
		t.Fatalf("%d sent", len(b.sent))
	}
}

// When a connection is closed, all buffers are returned, those with messages in flight and those
// that come too late.
func TestBorrowEnd(t *testing.T) {
	b := granted(t)
	for x := range uint32(5) {
		b.call(call(2 + x))
	}
	b.addBuffers(1)
	b.addBuffers(1)
	b.receive(0, reply(t, 2, 8))
	b.complete() // one of them is free
	b.call(call(7))
	if b.wanted == 0 {
		t.Fatal("none asked for")
	}
	b.step(engine.Event{Kind: engine.EventBroken, Err: errors.New("the end")})
	if len(b.returned) != 2 {
		t.Errorf("%d given back, want 2", len(b.returned))
	}
	b.addBuffers(2)
	if len(b.returned) != 4 || b.at != 0 {
		t.Errorf("%d given back, deadline %v: want 4, none", len(b.returned), b.at)
	}
	b.now += time.Hour
	b.step(engine.Event{Kind: engine.EventTimer})
	if len(b.returned) != 4 {
		t.Errorf("%d given back", len(b.returned))
	}
}
