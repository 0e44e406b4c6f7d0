package engine_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// longCall returns a Call whose message takes a whole send buffer.
func longCall(xid uint32) *engine.Call {
	c := call(xid)
	c.Payload[2] = bytes.Repeat([]byte{byte(xid)}, 940)
	return c
}

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

// An engine borrows send buffers when messages wait for nothing else, one for each long message,
// and returns those that it did not use for a while.
func TestSendBuffersAreBorrowed(t *testing.T) {
	b := granted(t)
	burst := func(from, n uint32) {
		for x := range n {
			b.call(longCall(from + x))
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
	b.call(longCall(2))
	b.call(longCall(3))
	b.addBuffers(0)
	b.call(longCall(4))
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
		b.call(longCall(2 + x))
	}
	b.addBuffers(1)
	b.addBuffers(1)
	b.receive(0, reply(t, 2, 8))
	b.complete() // one of them is free
	b.call(longCall(7))
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

// Small messages share a send buffer until all their Sends have completed. The bench checks that
// nothing is written over messages in flight.
func TestSmallMessagesShareABuffer(t *testing.T) {
	const share = 16 // messages in a buffer
	b := newBorrowing(t, engine.Requester, 32, 0, 64, 1)
	b.call(call(1))
	b.receive(0, reply(t, 1, 32))
	b.complete()
	for round := range 3 {
		from := uint32(10 + 100*round)
		before := len(b.sent)
		has := func(when string, sent, wanted int) {
			t.Helper()
			if len(b.sent) != before+sent || b.wanted != wanted {
				t.Fatalf("round %d, %s: %d sent, %d buffers asked for, want %d and %d", round, when, len(b.sent)-before, b.wanted, sent, wanted)
			}
		}
		for i := range uint32(share) {
			b.call(call(from + i))
		}
		has("the buffer is full", share, 0)
		b.call(call(from + share))
		has("one more", share, 1)
		b.addBuffers(0)
		for range share - 1 {
			b.complete()
		}
		has("one is in flight", share, 0)
		b.complete()
		has("none is in flight", share+1, 0)
		for i := range uint32(share + 1) {
			b.receive(int(i), reply(t, from+i, 32))
		}
		b.settle()
	}
}

// So do small answers.
func TestSmallAnswersShareABuffer(t *testing.T) {
	const n = 8
	b := newBorrowing(t, engine.Responder, 0, n, 64, 1)
	for i := range n {
		b.receive(i, unhex(t, short(uint32(i))))
	}
	for range n {
		b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
	}
	if len(b.sent) != n || b.wanted != 0 {
		t.Errorf("%d sent, %d buffers asked for, want %d and 0", len(b.sent), b.wanted, n)
	}
	b.settle()
	if n := len(b.flying); n != 0 {
		t.Errorf("%d are in flight", n)
	}
}

// A message that is too long for the rest of a buffer takes the next one, and small ones follow it
// there.
func TestLongMessageTakesAnotherBuffer(t *testing.T) {
	b := newBorrowing(t, engine.Requester, 16, 0, 64, 2)
	b.call(call(1))
	b.receive(0, reply(t, 1, 16))
	b.complete()
	for xid := range uint32(3) {
		b.call(call(2 + xid))
	}
	long := call(5)
	long.Payload[2] = make([]byte, 800)
	b.call(long)
	b.call(call(6))
	if len(b.sent) != 6 || b.wanted != 0 {
		t.Fatalf("%d sent, %d buffers asked for, want 6 and 0", len(b.sent), b.wanted)
	}
	third, fourth, fifth := b.flying[2].at/sendSize, b.flying[3].at/sendSize, b.flying[4].at/sendSize
	if third == fourth || fourth != fifth {
		t.Errorf("the messages are in buffers %d, %d and %d, want the last two in one", third, fourth, fifth)
	}
	b.settle()
	if n := len(b.flying); n != 0 {
		t.Errorf("%d are in flight", n)
	}
}
