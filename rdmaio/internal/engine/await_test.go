package engine_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Completions of the send queue are awaited only by work that depends on them. The memory of an
// answer without chunks is released at once, since it was copied.
func TestCompletionsAreAwaitedWhereWorkDepends(t *testing.T) {
	want := func(b *bench, wait bool, released int, why string) {
		t.Helper()
		if b.wait != wait || len(b.out) != released {
			t.Errorf("%s: awaits %v, %d released, want %v, %d", why, b.wait, len(b.out), wait, released)
		}
	}
	b := newBench(t, engine.Requester, 4, 4)
	b.call(call(1))
	want(b, false, 0, "a Call")
	b.receive(0, reply(t, 1, 4))
	for x := range uint32(3) {
		b.call(call(2 + x))
	}
	want(b, false, 0, "a full send queue")
	b.call(call(5))
	want(b, true, 0, "a Call that has no room in it")
	b.complete()
	want(b, false, 0, "now it has")

	const head = "cafe0001 00000001 00000020 00000000 "
	b = newBench(t, engine.Responder, 2, 16)
	b.receive(0, unhex(t, head+"00000000 00000000 00000000 "+rpcCall))
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}})
	want(b, false, 1, "an answer inline")
	b.receive(0, unhex(t, head+readKey+"00000000 00000000 "+rpcCall))
	want(b, true, 1, "RDMA Reads")
	b.complete()
	b.complete()
	want(b, false, 1, "which are over")
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}})
	want(b, false, 2, "an answer inline to a Call with chunks")
	b.receive(0, unhex(t, head+"00000000 "+writeKey+"00000000 "+rpcCall))
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}, Results: &engine.Results{Data: []verbs.SGE{{Length: 8}}}})
	want(b, true, 2, "an answer by RDMA Write")
	b.settle()
	want(b, false, 3, "which is over")
}

// Of the messages that one Step posts, only the last requests a completion, which stands for all of
// them. A chain whose completion is awaited always requests its own.
func TestModeratedCompletions(t *testing.T) {
	calls := func(from, n uint32) (all []engine.Event) {
		for x := range n {
			all = append(all, engine.Event{Kind: engine.EventCall, Call: call(from + x)})
		}
		return all
	}
	signaled := func(b *bench, ids, used int, why string) {
		t.Helper()
		if got := b.e.Stats().SendQueueFilled; len(b.ids) != ids || got != used {
			t.Errorf("%s: %d completions to come, %d entries of the send queue in use, want %d, %d", why, len(b.ids), got, ids, used)
		}
	}
	b := newBench(t, engine.Requester, 8, 8)
	b.call(call(1))
	b.receive(0, reply(t, 1, 8))
	signaled(b, 1, 1, "the first Call")
	b.step(calls(2, 4)...)
	signaled(b, 2, 5, "four Calls of one Step")
	b.step(calls(6, 3)...)
	signaled(b, 3, 8, "and three of the next")
	b.complete()
	signaled(b, 2, 7, "the end of the first Call")
	b.complete()
	signaled(b, 1, 3, "that of the four")
	b.complete()
	signaled(b, 0, 0, "that of the three")

	const head = "00000001 00000020 00000000 "
	b = newBench(t, engine.Responder, 4, 16)
	for i, xid := range []string{"cafe0001 ", "cafe0002 ", "cafe0003 "} {
		b.receive(i, unhex(t, xid+head+"00000000 "+writeKey+"00000000 "+xid+rpcCall[len(xid):]))
	}
	var answers []engine.Event
	for i, r := range b.reqs {
		r.Answer = engine.Answer{Payload: [][]byte{unhex(t, fmt.Sprintf("cafe000%d 00000001 44444444", i+1))}}
		if i == 1 {
			r.Answer.WithResults().Data = []verbs.SGE{{Length: 8}}
		}
		answers = append(answers, engine.Event{Kind: engine.EventReply, Request: r})
	}
	b.step(answers...)
	signaled(b, 2, 4, "an answer inline, one by RDMA Write, an answer inline")
	b.complete()
	signaled(b, 1, 1, "the end of the second answer")
}
