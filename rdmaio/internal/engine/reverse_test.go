package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// As each end sees it: a Call and a Call of the peer with the same XID are two RPCs, each with its
// own credits (R266 to R270, R273, R274; T16, T116).
func TestSameXIDBothWays(t *testing.T) {
	for _, role := range []engine.Role{engine.Requester, engine.Responder} {
		b := newBoth(t, role, 4, 3, 16)
		if b.recv != 7 {
			t.Errorf("%d Receives posted, want one for each Call both ways", b.recv)
		}
		ours := call(0xcafe0001)
		b.call(ours)
		b.receive(0, unhex(t, short(0xcafe0001))) // asks for 32
		b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}})
		if len(b.done) != 0 {
			t.Fatal("the peer's Call ended ours")
		}
		b.receive(1, reply(t, 0xcafe0001, 2))
		if len(b.done) != 1 || ours.Err != nil {
			t.Errorf("our Call: %+v", ours)
		}
		for i, want := range []string{
			// Our Call asks for 4.
			"cafe0001 00000001 00000004 00000000 00000000 00000000 00000000 cafe0001 00000000",
			// Our Reply grants 3.
			"cafe0001 00000001 00000003 00000000 00000000 00000000 00000000 cafe0001 00000001",
		} {
			if diff := cmp.Diff(unhex(t, want), b.sent[i][:36]); diff != "" {
				t.Errorf("role %d, message %d: %s", role, i, diff)
			}
		}
		st := b.e.Stats()
		mine, theirs := st.Flow, st.Reverse
		if role == engine.Responder {
			mine, theirs = theirs, mine
		}
		if diff := cmp.Diff([]engine.Flow{{Calls: 1, Replies: 1, Granted: 2}, {Calls: 1, Replies: 1, Granted: 3}}, []engine.Flow{mine, theirs}); diff != "" {
			t.Error(diff)
		}
	}
}

// The direction of a message, and whether its credit value is used (RFC 8167 §4.1; A27; R267, R281;
// T17, T73, T117). Our own Call with XID 1 is in flight with a grant of 1, and another waits for
// its credit.
func TestDirectionOfAMessageIsRecognized(t *testing.T) {
	const none = "00000000 00000000 00000000 "
	pzrc := "00000001 00000000 000000aa 00000028 00000000 00001000 "
	for _, c := range []struct {
		name    string
		msg     string
		client  string // the outcome where our Calls are forward
		server  string
		neither string // with nothing served: at a client that has no handler
	}{
		{"Call", "00000001 00000001 00000009 00000000 " + none + "00000001 00000000", "served", "served", "dropped"},
		{"Reply", "00000001 00000001 00000009 00000000 " + none + "00000001 00000001", "ended granted", "ended granted", "ended granted"},
		{"ERROR", "00000001 00000001 00000009 00000004 00000002", "ended granted", "ended granted", "ended granted"},
		{"T73: ERROR for an XID that the peer uses", "00000007 00000001 00000009 00000004 00000002", "dropped granted", "dropped granted", "dropped granted"},
		{"R110: DONE", "00000001 00000001 00000009 00000003", "dropped", "dropped", "dropped"},
		{"NOMSG with a chunk at position zero", "00000001 00000001 00000009 00000001 " + pzrc + none, "served", "served", "dropped"},
		{"NOMSG, reply chunk, an XID of ours", "00000001 00000001 00000009 00000001 00000000 00000000 00000001 00000000", "ended granted", "ended granted", "ended granted"},
		{"NOMSG, reply chunk, another XID", "00000005 00000001 00000009 00000001 00000000 00000000 00000001 00000000", "dropped", "refused", "dropped"},
		{"T17: NOMSG without lists", "00000001 00000001 00000009 00000001 " + none, "ended", "refused", "ended"},
		{"an RPC message of 4 bytes", "00000001 00000001 00000009 00000000 " + none + "00000001", "ended", "refused", "ended"},
		{"an RPC message of type 2", "00000001 00000001 00000009 00000000 " + none + "00000001 00000002", "ended", "refused", "ended"},
		{"lists that are no XDR", "00000001 00000001 00000009 00000000 00000002 00000000 00000000", "ended", "refused", "ended"},
		{"procedure 5", "00000001 00000001 00000009 00000005 " + none, "ended", "refused", "ended"},
		{"R15, R188: version 2", "00000001 00000002 00000009 00000000 " + none, "ended", "refused", "ended"},
		{"version 2, another XID", "00000005 00000002 00000009 00000000 " + none, "dropped", "refused", "dropped"},
		{"12 bytes", "00000001 00000001 00000009", "dropped", "dropped", "dropped"},
	} {
		for name, b := range map[string]*bench{
			"client":  newBoth(t, engine.Requester, 2, 2, 16),
			"server":  newBoth(t, engine.Responder, 2, 2, 16),
			"neither": newBoth(t, engine.Requester, 2, 0, 16),
		} {
			want := map[string]string{"client": c.client, "server": c.server, "neither": c.neither}[name]
			b.cfg.ReverseChunks = true
			b.e = engine.New(b.cfg)
			b.open = make([]bool, len(b.open))
			b.step(engine.Event{Kind: engine.EventStart})
			mine := call(1)
			b.call(mine)
			b.call(call(2))
			b.receive(0, unhex(t, c.msg))
			st := b.e.Stats()
			var got []string
			if st.DroppedMessages > 0 {
				got = append(got, "dropped")
			}
			if len(b.done) > 0 && b.done[0] == mine {
				got = append(got, "ended")
			}
			if st.Calls+st.Reverse.Calls > uint64(len(b.sent)) && st.ErrorMessages == 0 {
				got = append(got, "served")
			}
			if last := b.sent[len(b.sent)-1]; last[15] == 4 {
				got = append(got, "refused")
			}
			ours := st.Flow
			if name == "server" {
				ours = st.Reverse
			}
			if ours.Granted == 2 {
				got = append(got, "granted")
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%s at the %s: %q, want %q", c.name, name, got, want)
			}
		}
	}
}

// R124, R277, T118: with the option off every kind of chunk in a reverse Call is refused, with it
// on none is; forward Calls do not depend on it.
func TestReverseChunksOff(t *testing.T) {
	for name, lists := range map[string]string{
		"read chunk":             readKey + "00000000 00000000 ",
		"write chunk":            "00000000 " + writeKey + "00000000 ",
		"write chunk of nothing": "00000000 00000001 00000000 00000000 00000000 ",
		"reply chunk":            "00000000 00000000 " + replyKey,
		"none":                   "00000000 00000000 00000000 ",
	} {
		for _, c := range []struct {
			role engine.Role
			on   bool
		}{{engine.Requester, false}, {engine.Requester, true}, {engine.Responder, false}} {
			b := newBoth(t, c.role, 1, 2, 16)
			b.cfg.ReverseChunks = c.on
			b.e = engine.New(b.cfg)
			b.open = make([]bool, len(b.open))
			b.step(engine.Event{Kind: engine.EventStart})
			b.receive(0, unhex(t, "cafe0001 00000001 00000020 00000000 "+lists+rpcCall))
			b.settle()
			if name == "none" || c.on || c.role == engine.Responder {
				if len(b.sent) != 0 || len(b.reqs) != 1 {
					t.Errorf("%s, role %d, chunks %v: not served", name, c.role, c.on)
				}
				continue
			}
			if len(b.reqs) != 0 || len(b.sent) != 1 {
				t.Fatalf("%s: %d delivered", name, len(b.reqs))
			}
			if diff := cmp.Diff(unhex(t, "cafe0001 00000001 00000002 00000004 00000002"), b.sent[0]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// Calls beyond the grant are dropped and their Receive posted again, so that Replies always find
// one (R134, R283; T1, T119, B21). The bench checks the latter after each step.
func TestCallsBeyondTheGrantAreDropped(t *testing.T) {
	for _, role := range []engine.Role{engine.Requester, engine.Responder} {
		b := newBoth(t, role, 2, 2, 16)
		mine := call(1)
		b.call(mine)
		for xid := range uint32(10000) {
			i := b.free()
			if i < 0 {
				t.Fatal("no Receive is left")
			}
			b.receive(i, unhex(t, short(xid)))
		}
		if st := b.e.Stats(); st.CallsOverCredit != 9998 || st.DroppedMessages != 9998 || len(b.reqs) != 2 || len(b.sent) != 1 {
			t.Errorf("%+v, %d delivered", st, len(b.reqs))
		}
		b.receive(b.free(), reply(t, 1, 2))
		if len(b.done) != 1 || mine.Err != nil {
			t.Errorf("our Call under the flood: %+v", mine)
		}
		b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
		b.receive(b.free(), unhex(t, short(1)))
		if len(b.reqs) != 2 {
			t.Error("after an answer the next Call is not served")
		}
	}
}

// The send queue is first come, first served: neither direction overtakes the other, and a Call
// without a credit delays no other request (R283).
func TestOneLine(t *testing.T) {
	b := newBoth(t, engine.Responder, 8, 8, 1)
	b.call(call(1)) // takes the queue
	for i := range 6 {
		b.receive(i, unhex(t, short(uint32(0x10+i))))
	}
	say := func() { b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}}) }
	b.call(call(2)) // no credit yet
	say()
	say()
	b.receive(6, reply(t, 1, 8)) // credits for all, for 2 with the place of when it came
	b.call(call(3))
	say()
	b.call(call(4))
	b.call(call(5))
	say()
	b.settle()
	var order []string
	for _, m := range b.sent {
		order = append(order, fmt.Sprintf("%x", m[3]))
	}
	if diff := cmp.Diff("1 2 10 11 3 12 4 5 13", strings.Join(order, " ")); diff != "" {
		t.Error(diff)
	}
	// And without a credit:
	b = newBoth(t, engine.Responder, 8, 8, 1)
	b.call(call(1))
	b.call(call(2))
	b.receive(0, unhex(t, short(0x10)))
	say()
	b.complete()
	if len(b.sent) != 2 || b.sent[1][3] != 0x10 {
		t.Errorf("an answer waits for a Call that has no credit: %d sent", len(b.sent))
	}
}

// Keys: a Reply to a reverse Call does not invalidate any, and no message about a reverse Call may
// (RFC 8797 §4.1).
func TestReverseKeys(t *testing.T) {
	b := newBoth(t, engine.Requester, 2, 2, 16)
	b.cfg.ReverseChunks = true
	b.e = engine.New(b.cfg)
	b.open = make([]bool, len(b.open))
	b.step(engine.Event{Kind: engine.EventStart})
	b.agreed(invalidating)
	b.receive(0, unhex(t, "cafe0001 00000001 00000020 00000000 00000000 "+writeKey+"00000000 "+rpcCall))
	b.logged()
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}})
	if diff := cmp.Diff("recv 0\nsend 64 bytes signaled|solicited\nrelease 0xcafe0001: <nil>\n", b.logged()); diff != "" {
		t.Error(diff)
	}
	mine := call(1)
	copy(mine.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 0xbb, Length: 8, Offset: 0x1000}})
	b.call(mine)
	b.ending(1, unhex(t, short(1)), 0xbb) // a reverse Call with the XID of the Call that offered it
	if !errors.Is(b.fail, engine.ErrInvalidated) {
		t.Errorf("a reverse Call that ends a key: %v", b.fail)
	}
	b = newBoth(t, engine.Responder, 2, 2, 16)
	b.agreed(invalidating)
	mine = call(1)
	copy(mine.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 0xbb, Length: 8, Offset: 0x1000}})
	b.call(mine)
	b.ending(0, reply(t, 1, 2), 0xbb)
	if !errors.Is(b.fail, engine.ErrInvalidated) {
		t.Errorf("a Reply to a reverse Call that ends a key: %v", b.fail)
	}
}

// A Request that is dropped: no message, its Receive posted again, its share of the grants free.
func TestDroppedRequestFreesItsShare(t *testing.T) {
	b := newBoth(t, engine.Responder, 0, 2, 16)
	b.receive(0, unhex(t, short(1)))
	b.logged()
	r := b.answer(engine.Answer{Drop: true})
	if diff := cmp.Diff("recv 0\nrelease 0x1: <nil>\n", b.logged()); diff != "" || b.out[0] != r {
		t.Error(diff)
	}
	b.receive(1, unhex(t, short(2)))
	b.receive(0, unhex(t, short(3)))
	b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
	if st := b.e.Stats(); len(b.reqs) != 1 || st.Granted != 2 || st.CallsOverCredit != 0 || st.DroppedMessages != 1 {
		t.Errorf("%+v", st)
	}
}

// TestRandomBoth runs random events in both directions, over a send queue that is too small. In
// every run no grant is exceeded either way, Replies find Receives (both in check), all ends, and
// the same seed gives the same effects.
func TestRandomBoth(t *testing.T) {
	waited := 0
	for seed := range uint64(150) {
		first, w := randomBoth(t, seed)
		again, _ := randomBoth(t, seed)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("seed %d gives two histories: %s", seed, diff)
		}
		waited += w
	}
	if waited == 0 {
		t.Error("no request waited: the test proves too little")
	}
}

func randomBoth(t *testing.T, seed uint64) (log string, waited int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	role := engine.Role(seed % 2)
	b := newBoth(t, role, 1+r.IntN(5), 1+r.IntN(5), 1+r.IntN(3))
	var calls []*engine.Call
	ended := make(map[*engine.Call]bool)
	out, peers := 0, uint32(0) // messages that the peer has seen, and the XID of its last Call
	var open []uint32          // XIDs of our Calls that the peer has not answered
	for step := 0; step < 300 || len(calls) > len(ended) || len(b.reqs) > 0 || len(b.ids) > 0; step++ {
		if step > 3000 {
			t.Fatalf("seed %d: stuck with %+v", seed, b.e.Stats())
		}
		for ; out < len(b.sent); out++ {
			if m := b.sent[out]; m[35] == 0 { // a Call
				open = append(open, uint32(m[2])<<8|uint32(m[3]))
			}
		}
		switch k := r.IntN(6); {
		case k == 0 && step < 300:
			c := call(uint32(len(calls)))
			calls = append(calls, c)
			b.call(c)
		case k == 1 && step < 300:
			if i := b.free(); i >= 0 {
				peers++
				b.receive(i, unhex(t, short(peers)))
			}
		case k == 2 && len(open) > 0:
			j := r.IntN(len(open))
			b.receive(b.free(), reply(t, open[j], r.Uint32N(8)))
			open = append(open[:j], open[j+1:]...)
		case k == 3 && len(b.ids) > 0:
			b.complete()
		case k == 4 && len(b.reqs) > 0:
			b.answer(engine.Answer{Payload: [][]byte{unhex(t, "00000000 00000001")}, Drop: r.IntN(5) == 0})
		}
		waited += b.e.Stats().Waiting
		for _, c := range b.done {
			if c.Err != nil || ended[c] {
				t.Fatalf("seed %d: Call %d ended with %v, before: %v", seed, c.XID, c.Err, ended[c])
			}
			ended[c] = true
		}
		b.done = b.done[:0]
	}
	if st := b.e.Stats(); b.fail != nil || st.Waiting != 0 || st.SendQueueFilled != 0 || st.PostedRecvs != len(b.cfg.Recv) {
		t.Fatalf("seed %d: %v, %+v", seed, b.fail, st)
	}
	return b.logged(), waited
}

// Steady state allocates nothing in the reverse direction either.
func TestReverseAllocates(t *testing.T) {
	b := newBoth(t, engine.Responder, 2, 2, 8)
	c := call(1)
	c.ReplyTo = make([]byte, 0, 64)
	msg := reply(t, 1, 2)
	events := []engine.Event{
		{Kind: engine.EventCall, Call: c},
		completion(verbs.WC{Opcode: verbs.WCSend}),
		completion(verbs.WC{WRID: 0, Opcode: verbs.WCRecv, ByteLen: uint32(len(msg))}),
	}
	id := uint64(0)
	if n := testing.AllocsPerRun(50, func() {
		id++
		events[1].WC.WRID = id
		copy(b.cfg.Recv[0].Bytes, msg)
		b.e.Step(0, events[:1])
		b.e.Step(0, events[1:])
		if c.Err != nil {
			t.Fatal(c.Err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for each Call", n)
	}
}
