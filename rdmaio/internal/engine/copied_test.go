package engine_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The result of an answer when the connection ends in the same Step: an answer that was not posted
// failed, one that completed before succeeded.
func TestAnswersAtTheEnd(t *testing.T) {
	why := errors.New("the end")
	const head = "cafe0001 00000001 00000020 00000000 00000000 "
	answer := engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}}

	b := newBench(t, engine.Responder, 4, 16)
	b.receive(0, unhex(t, head+"00000000 00000000 "+rpcCall))
	b.reqs[0].Answer = answer
	b.step(engine.Event{Kind: engine.EventReply, Request: b.reqs[0]}, engine.Event{Kind: engine.EventBroken, Err: why})
	if len(b.out) != 1 || !errors.Is(b.out[0].Err, why) {
		t.Errorf("an answer that is not posted: %d released", len(b.out))
	}

	b = newBench(t, engine.Responder, 4, 16)
	b.receive(0, unhex(t, head+writeKey+"00000000 "+rpcCall))
	answer.WithResults().Data = []verbs.SGE{{Length: 8}}
	b.answer(answer)
	b.step(engine.Event{Kind: engine.EventDrain, Err: why})
	if b.fail != nil || !b.wait {
		t.Fatalf("%v, awaited %v: want the answer to be seen away", b.fail, b.wait)
	}
	b.complete()
	if !errors.Is(b.fail, why) || len(b.out) != 1 || b.out[0].Err != nil {
		t.Errorf("%v, %d released: want an answer that was handed over", b.fail, len(b.out))
	}
}
