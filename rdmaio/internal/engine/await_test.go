package engine_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Completions of the send queue are waited for by what cannot go on without one, and by nothing else. What an
// answer without chunks names is given back at once, since it was copied.
func TestAwait(t *testing.T) {
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
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}, Data: []verbs.SGE{{Length: 8}}})
	want(b, true, 2, "an answer by RDMA Write")
	for len(b.ids) > 0 {
		b.complete()
	}
	want(b, false, 3, "which is over")
}
