package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// TestRandomRequester drives a requester by chance: Calls, Replies to anything, grants of any size,
// cancellations, completions late and early. Whatever comes, no grant is exceeded, each Call
// completes once, and the same seed gives the same effects.
func TestRandomRequester(t *testing.T) {
	cancelled, refused := 0, 0
	for seed := range uint64(150) {
		first, stats := randomRequester(t, seed)
		again, _ := randomRequester(t, seed)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("seed %d gives two histories: %s", seed, diff)
		}
		cancelled += stats.cancelled
		refused += stats.unanswered
	}
	if cancelled == 0 || refused == 0 {
		t.Error("no Call was cancelled, or none was cut off: the test proves too little")
	}
}

type randomStats struct{ cancelled, unanswered int }

func randomRequester(t *testing.T, seed uint64) (log string, st randomStats) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	const credits = 6
	b := newBench(t, engine.Requester, credits, 1+r.IntN(8))
	calls := make(map[uint32]*engine.Call)
	inFlight := make(map[uint32]bool) // as the peer sees it
	granted := 1
	next := uint32(0)
	seen := 0
	look := func() {
		for ; seen < len(b.sent); seen++ {
			m := b.sent[seen]
			inFlight[uint32(m[2])<<8|uint32(m[3])] = true
			if len(inFlight) > granted {
				t.Fatalf("seed %d: %d in flight, %d granted", seed, len(inFlight), granted)
			}
		}
	}
	for range 120 {
		b.now += time.Duration(r.IntN(1000)) * time.Microsecond
		switch r.IntN(5) {
		case 0, 1:
			next++
			calls[next] = call(next)
			b.call(calls[next])
		case 2: // a Reply, now and then to a Call that is not in flight
			if next == 0 || b.recv == 0 {
				continue
			}
			xid := 1 + r.Uint32N(next)
			grant := r.Uint32N(10)
			delete(inFlight, xid)
			granted = max(1, min(int(grant), credits))
			b.receive(r.IntN(credits), reply(t, xid, grant))
		case 3:
			if len(b.ids) > 0 {
				b.complete()
			}
		case 4:
			if next > 0 {
				xid := 1 + r.Uint32N(next)
				before := len(b.done)
				b.step(engine.Event{Kind: engine.EventCancel, XID: xid, Call: calls[xid]})
				st.cancelled += len(b.done) - before
			}
		}
		// A lower grant takes effect as Replies come: until then there may be more in flight.
		granted = max(granted, len(inFlight))
		look()
	}
	before := len(b.done)
	b.step(engine.Event{Kind: engine.EventBroken, Err: errors.New("the end")})
	st.unanswered = len(b.done) - before
	ended := make(map[*engine.Call]int)
	for _, c := range b.done {
		ended[c]++
	}
	for xid, c := range calls {
		if ended[c] != 1 {
			t.Errorf("seed %d: Call %d ended %d times", seed, xid, ended[c])
		}
	}
	order := ""
	for _, c := range b.done {
		order += fmt.Sprintf("%d:%v:%v ", c.XID, c.Sent, c.Err)
	}
	return b.logged() + order + fmt.Sprintf("%+v", b.e.Stats()), st
}

// TestRandomResponder does the same with a responder: good and bad Calls, with chunks and without,
// answers late and out of order, Sends that complete at random.
func TestRandomResponder(t *testing.T) {
	messages := []string{
		"%08x 00000001 00000020 00000000 00000000 00000000 00000000 %08x 00000000 33333333",
		"%08x 00000001 00000001 00000000 00000001 00000008 000000aa 00000005 00000000 00001000 00000000 00000000 00000000 %08x 00000000",
		"%08x 00000001 00000009 00000000 00000000 00000001 00000002 000000bb 00000003 00000000 00002000 000000bc 00000009 00000000 00003000 00000000 00000000 %08x 00000000",
		"%08x 00000007 00000020 00000000 00000000 00000000 00000000 %08x 00000000",
		"%08x 00000001 00000020 00000009 00000000 00000000 00000000 %08x 00000000",
		"%08x 00000001 00000020 00000003 %08x",
	}
	for seed := range uint64(150) {
		run := func() string {
			r := rand.New(rand.NewPCG(seed, 2))
			const credits = 4
			b := newBench(t, engine.Responder, credits, 3+r.IntN(6))
			b.agreed(header.Terms{Send: 1024, Recv: 1024, RemoteInvalidate: seed%2 == 1})
			b.log.Reset()
			for xid := range uint32(100) {
				switch r.IntN(4) {
				case 0, 1:
					if i := b.free(); i >= 0 {
						b.receive(i, unhex(t, fmt.Sprintf(messages[r.IntN(len(messages))], xid, xid)))
					}
				case 2:
					if len(b.ids) > 0 {
						b.complete()
					}
				case 3:
					if len(b.reqs) > 0 {
						k := r.IntN(len(b.reqs))
						b.reqs[0], b.reqs[k] = b.reqs[k], b.reqs[0]
						b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}, Results: &engine.Results{Data: []verbs.SGE{{Length: r.IntN(13)}}[:min(1, len(b.reqs[0].Offered().Writes))]}})
					}
				}
			}
			return b.logged()
		}
		if diff := cmp.Diff(run(), run()); diff != "" {
			t.Fatalf("seed %d gives two histories: %s", seed, diff)
		}
	}
}
