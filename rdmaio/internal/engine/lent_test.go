package engine_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// lent is memory that a provider has lent.
type lent struct {
	t    *testing.T
	b    []byte
	back int // calls of Return
}

func (l *lent) Bytes() []byte { return l.b }

func (l *lent) Return() {
	if l.back++; l.back > 1 {
		l.t.Error("a loan is returned twice")
	}
	clear(l.b)
}

// lends gives an end of version 1 a message in lent memory. Its completion says that it has n
// bytes.
func lends(t *testing.T, e *engine.Engine, msg []byte, n int) (*engine.Effects, *lent) {
	t.Helper()
	l := &lent{t: t, b: msg}
	return e.Step(0, []engine.Event{completion(verbs.WC{WRID: 0, Opcode: verbs.WCRecv, ByteLen: uint32(n), Loan: l})}), l
}

// newLent returns an end of version 1 whose Receives have no memory.
func newLent(t *testing.T, role engine.Role, calls, serves int) *engine.Engine {
	b := newBoth(t, role, calls, serves, 16)
	cfg := b.cfg
	cfg.Recv, cfg.Receives, cfg.ReceiveMost = nil, calls+serves, 1024
	e := engine.New(cfg)
	f := e.Step(0, []engine.Event{{Kind: engine.EventStart}})
	for _, wr := range f.Recvs {
		if wr.Lend != 1024 || wr.SGL != nil {
			t.Fatalf("Receive %+v, want one that lends 1024 bytes", wr)
		}
	}
	return e
}

// Lent memory is returned as soon as the message is done with: a Call's when the Call was answered,
// any other message's at once.
func TestLoansAreReturned(t *testing.T) {
	e := newLent(t, engine.Responder, 0, 2)
	for name, msg := range map[string][]byte{
		"a short message": make([]byte, 3), "an ERROR": unhex(t, "cafe0001 00000001 00000004 00000004 00000002"),
	} {
		if _, l := lends(t, e, msg, len(msg)); l.back != 1 {
			t.Errorf("%s: returned %d times", name, l.back)
		}
	}
	call := unhex(t, "cafe0001 00000001 00000020 00000000 00000000 00000000 00000000 "+rpcCall)
	f, l := lends(t, e, call, len(call))
	if len(f.Deliver) != 1 || l.back != 0 {
		t.Fatalf("%d Calls, the loan returned %d times", len(f.Deliver), l.back)
	}
	r := f.Deliver[0]
	r.Answer.Payload = [][]byte{unhex(t, "cafe0001 00000001 44444444")}
	f = e.Step(0, []engine.Event{{Kind: engine.EventReply, Request: r}})
	posted := len(f.Recvs)
	e.Step(0, nil)
	if posted != 1 || l.back != 1 {
		t.Errorf("after the answer: %d Receives posted, the loan returned %d times", posted, l.back)
	}

	e = newLent(t, engine.Requester, 2, 0)
	c := &engine.Call{XID: 1, Payload: [][]byte{rpcCall2(1)}}
	e.Step(0, []engine.Event{{Kind: engine.EventCall, Call: c}})
	got := reply(t, 1, 4)
	if _, l = lends(t, e, got, len(got)); l.back != 1 || c.Err != nil || len(c.Reply) == 0 || c.Reply[3] != 1 {
		t.Errorf("a Reply: returned %d times; %v, % x", l.back, c.Err, c.Reply)
	}
}

// A completion that comes without the memory of its length closes the connection.
func TestLoanOfAnotherLength(t *testing.T) {
	for _, n := range []int{0, 27, 29, 1025} {
		e := newLent(t, engine.Responder, 0, 2)
		f, l := lends(t, e, make([]byte, 28), n)
		if ends := errors.Is(f.Fail, engine.ErrInternal); ends != (n > 0) || l.back > 1 {
			t.Errorf("28 bytes of %d: ended with %v, returned %d times", n, f.Fail, l.back)
		}
	}
	e := newLent(t, engine.Responder, 0, 2)
	f := e.Step(0, []engine.Event{completion(verbs.WC{Opcode: verbs.WCRecv, ByteLen: 28})})
	if !errors.Is(f.Fail, engine.ErrInternal) {
		t.Errorf("without memory: ended with %v", f.Fail)
	}
}

// R137: Calls whose RDMA Reads wait are counted, and go on when the terms allow more Reads. An end
// that makes no Calls has no credits for them.
func TestReadsWait(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 8)
	b.agreed(header.Terms{Send: 1024, Recv: 1024, ReadsUnknown: true})
	call := unhex(t, "cafe0001 00000001 00000020 00000000 "+readKey+"00000000 00000000 "+rpcCall)
	b.receive(0, call)
	call[3], call[len(call)-17] = 2, 2 // of both XIDs
	b.receive(1, call)
	if st := b.e.Stats(); st.Waiting != 2 || len(b.ids) != 0 || st.Reverse.Granted != 0 {
		t.Errorf("%d wait, %d chains are posted, %d credits for our Calls", st.Waiting, len(b.ids), st.Reverse.Granted)
	}
	b.agreed(header.Terms{Send: 1024, Recv: 1024, Reads: 1})
	if st := b.e.Stats(); st.Waiting != 1 || len(b.ids) != 1 {
		t.Errorf("one Read is allowed: %d wait, %d chains are posted", st.Waiting, len(b.ids))
	}
	b.agreed(header.Terms{Send: 1024, Recv: 1024})
	if st := b.e.Stats(); st.Waiting != 0 || len(b.ids) != 2 {
		t.Errorf("any number is allowed: %d wait, %d chains are posted", st.Waiting, len(b.ids))
	}
}

// R268: if reverse Calls may have chunks, an RDMA_NOMSG with read chunks is a Call from the peer,
// even if it has the XID of one of our Calls and Replies may take this form.
func TestLongCallIsNoReply(t *testing.T) {
	for _, chunks := range []bool{false, true} {
		b := newBoth(t, engine.Requester, 1, 1, 16)
		b.cfg.Legacy, b.cfg.ReverseChunks = true, chunks
		b.e, b.recv, b.open = engine.New(b.cfg), 0, make([]bool, 2)
		b.step(engine.Event{Kind: engine.EventStart})
		c := call(1)
		b.call(c)
		b.receive(0, unhex(t, "00000001 00000001 00000004 00000001 00000001 00000000 000000aa 00000028 00000000 00001000 00000000 00000000 00000000"))
		st := b.e.Stats()
		if isCall := st.Reverse.Calls == 1; isCall != chunks || (st.Replies == 1) == chunks {
			t.Errorf("reverse Calls with chunks %v: %d Calls, %d Replies", chunks, st.Reverse.Calls, st.Replies)
		}
	}
}
