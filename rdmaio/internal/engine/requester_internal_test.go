package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// newRequester returns the requester of an engine with n credits. It may use one of them before the
// first Reply.
func newRequester(n int, legacy bool) *requester {
	e := New(Config{
		Versions: []protocol.Version{new(v1.Version)}, Calls: n, Legacy: legacy, SendWRs: 8,
		Send: []Buffer{{Bytes: make([]byte, 1024)}, {Bytes: make([]byte, 1024)}},
	})
	e.sends.reset()
	return &e.requester
}

// send posts the first waiting Call, as Engine does when there is room.
func (rq *requester) send() { rq.sendCall(rq.waiting.pop()) }

// respond passes the requester a Reply of this kind to XID 1.
func (rq *requester) respond(kind header.Kind, reads int) *pending {
	r := &Request{hdr: header.Message{XID: 1, Kind: kind, Credit: 4, Payload: []byte{0, 0, 0, 1, 0, 0, 0, 1}}}
	r.hdr.Reads = make([]header.ReadSegment, reads)
	rq.account.Received(&r.hdr, nil, protocol.Answer)
	return rq.response(r, nil, 0)
}

// A Call's state, the credits in use, and whether the Call is complete, after each event.
func TestCallStates(t *testing.T) {
	type after struct {
		State    string // of the pending Call; "" when it is gone
		InFlight int    // credits in use
		Done     int    // Effects.Done
		Settled  int
	}
	type step struct {
		name string
		do   func(*requester, *Call)
		want after
	}
	var (
		call   = step{"call", func(rq *requester, c *Call) { rq.call(c) }, after{"waiting", 0, 0, 0}}
		send   = step{"send", func(rq *requester, _ *Call) { rq.send() }, after{"sent", 1, 0, 0}}
		cancel = func(rq *requester, c *Call) { rq.cancel(c.XID, c, "left") }
		reply  = func(rq *requester, _ *Call) { rq.respond(header.KindMsg, 0) }
		refuse = func(rq *requester, _ *Call) { rq.respond(header.KindError, 0) }
		reads  = func(rq *requester, _ *Call) { rq.respond(header.KindMsg, 1) }
	)
	for name, steps := range map[string][]step{
		"answered":                {call, send, {"reply", reply, after{"", 0, 1, 0}}, {"again", reply, after{"", 0, 1, 0}}},
		"refused":                 {call, send, {"error", refuse, after{"", 0, 1, 0}}},
		"a Reply before the Call": {call, {"reply", reply, after{"waiting", 0, 0, 0}}, send},
		"cancelled while waiting": {call, {"cancel", cancel, after{"", 0, 1, 0}}, {"again", cancel, after{"", 0, 1, 0}}},
		// R135: the credit is in use until the Reply.
		"cancelled when sent": {call, send, {"cancel", cancel, after{"sent", 1, 1, 0}}, {"reply", reply, after{"", 0, 1, 1}}},
		// RFC 8166 has no read chunks in Replies: the Call ends with a fault.
		"read chunks": {call, send, {"reply", reads, after{"", 0, 1, 0}}},
		"too long": {call, {"send", func(rq *requester, c *Call) {
			c.Payload = [][]byte{make([]byte, 2048)}
			rq.send()
		}, after{"", 0, 1, 0}}},
		"the end of the connection": {call, send, {"end", func(rq *requester, _ *Call) { rq.end(errors.New("the end")) }, after{"", 1, 1, 0}}},
		"after the end":             {{"end", func(rq *requester, _ *Call) { rq.end(errors.New("the end")) }, after{}}, {"call", call.do, after{"", 0, 1, 0}}},
		"an XID in use":             {call, {"call", func(rq *requester, _ *Call) { rq.call(&Call{XID: 1}) }, after{"waiting", 0, 1, 0}}, {"send", send.do, after{"sent", 1, 1, 0}}},
	} {
		rq, c := newRequester(4, false), &Call{XID: 1, Payload: [][]byte{make([]byte, 64)}}
		for _, s := range steps {
			s.do(rq, c)
			got := after{"", rq.account.Counts().Calls, len(rq.eff.Done), len(rq.eff.Settled)}
			if p := rq.table.get(1); p != nil {
				got.State = p.state.String()
			}
			if diff := cmp.Diff(s.want, got); diff != "" {
				t.Errorf("%s, after %s: %s", name, s.name, diff)
				break
			}
		}
	}
}

// With Config.Legacy a Reply with read chunks does not end its Call: it is to be read first, and
// the credit stays in use.
func TestReplyToBeRead(t *testing.T) {
	rq := newRequester(4, true)
	rq.call(&Call{XID: 1})
	rq.send()
	p := rq.table.get(1)
	if got := rq.respond(header.KindMsg, 1); got != p || p.state != callSent || rq.account.Counts().Calls != 1 {
		t.Fatalf("returns the Call: %v, in state %v, %d credits in use", got == p, p.state, rq.account.Counts().Calls)
	}
	rq.toCall(p, callReading)
	if got := rq.respond(header.KindMsg, 0); got != nil || len(rq.eff.Done) > 0 || rq.stats.DroppedMessages != 1 {
		t.Errorf("a second Reply: %d Calls done, %d messages dropped, want 0, 1", len(rq.eff.Done), rq.stats.DroppedMessages)
	}
}

// A Call is ready only while it has a credit: one before the first Reply, then as many as granted.
func TestReadyWithCredit(t *testing.T) {
	rq := newRequester(8, false)
	if rq.ready() {
		t.Error("ready without a Call")
	}
	for x := range uint32(7) {
		rq.call(&Call{XID: 1 + x})
	}
	rq.send()
	if rq.ready() {
		t.Error("two Calls may be in flight before the first Reply")
	}
	rq.respond(header.KindMsg, 0) // grants 4
	sent := 0
	for ; rq.ready(); sent++ {
		rq.sends.buffers.free = append(rq.sends.buffers.free, &Buffer{Bytes: make([]byte, 1024)})
		rq.send()
	}
	if sent != 4 || rq.waiting.len() != 2 {
		t.Errorf("%d Calls sent and %d waiting after a grant of 4, want 4 and 2", sent, rq.waiting.len())
	}
}

// Ended Calls are used again, without a trace of the Call before.
func TestPendingReused(t *testing.T) {
	rq := newRequester(4, false)
	c := &Call{XID: 1}
	rq.call(c)
	rq.send()
	p := rq.table.get(1)
	rq.cancel(1, c, "left")
	rq.respond(header.KindMsg, 0)
	rq.call(&Call{XID: 2})
	if q := rq.table.get(2); q != p || q.left != nil || q.keys != nil || q.state != callWaiting {
		t.Errorf("the second Call uses the same memory: %v, with %+v", q == p, q)
	}
}
