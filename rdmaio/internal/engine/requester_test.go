package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func call(xid uint32) *engine.Call {
	return &engine.Call{XID: xid, Payload: [][]byte{{byte(xid >> 24), byte(xid >> 16), byte(xid >> 8), byte(xid)}, {0, 0, 0, 0}, []byte("rest of the Call")}}
}

func (b *bench) call(c *engine.Call) {
	b.t.Helper()
	b.step(engine.Event{Kind: engine.EventCall, Call: c})
}

func reply(t *testing.T, xid, credit uint32) []byte {
	return unhex(t, fmt.Sprintf("%08x 00000001 %08x 00000000 00000000 00000000 00000000 %08x 00000001 00000000 abcdef00", xid, credit, xid))
}

// A Call's bytes, and its Reply's way back (R17).
func TestCallBytes(t *testing.T) {
	b := newBench(t, engine.Requester, 4, 4)
	if diff := cmp.Diff("recv 0\nrecv 1\nrecv 2\nrecv 3\n", b.logged()); diff != "" {
		t.Fatal(diff)
	}
	c := call(0xcafe0001)
	c.WithOffer().Lists.Reads = []header.ReadSegment{{Position: 24, Segment: header.Segment{Handle: 0xaa, Length: 5, Offset: 0x1000}}}
	copy(c.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 0xbb, Length: 9, Offset: 0x2000}})
	b.call(c)
	want := unhex(t, `cafe0001 00000001 00000004 00000000
		00000001 00000018 000000aa 00000005 00000000 00001000 00000000
		00000001 00000001 000000bb 00000009 00000000 00002000 00000000
		00000000
		cafe0001 00000000`)
	want = append(want, "rest of the Call"...)
	if diff := cmp.Diff(want, b.sent[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(fmt.Sprintf("send %d bytes signaled|solicited\n", len(want)), b.logged()); diff != "" {
		t.Error(diff)
	}
	b.receive(0, unhex(t, `cafe0001 00000001 00000004 00000000
		00000000 00000001 00000001 000000bb 00000007 00000000 00002000 00000000 00000000
		cafe0001 00000001 11223344`))
	if len(b.done) != 1 || b.done[0] != c || c.Err != nil || !c.Sent {
		t.Fatalf("ended: %+v", c)
	}
	if diff := cmp.Diff(unhex(t, "cafe0001 00000001 11223344"), c.Reply); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint64{7}, c.Used); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("recv 0\n", b.logged()); diff != "" {
		t.Errorf("the Receive was not posted again: %s", diff)
	}
}

// Credits as seen from outside: R127, R128, R130, R131, R135; T3 to T5, T14, T16, T17.
func TestCreditsBoundTheCallsInFlight(t *testing.T) {
	b := newBench(t, engine.Requester, 8, 64)
	xid := uint32(0)
	made := make(map[uint32]*engine.Call)
	for range 20 {
		xid++
		made[xid] = call(xid)
		b.call(made[xid])
	}
	sent := func(want int, why string) {
		t.Helper()
		b.settle()
		if len(b.sent) != want {
			t.Fatalf("%s: %d Calls sent, want %d", why, len(b.sent), want)
		}
	}
	sent(1, "R128: before the first Reply")
	b.receive(0, reply(t, 1, 4))
	sent(5, "a grant of 4 with none in flight")
	b.receive(1, reply(t, 2, 0))
	sent(5, "T3: 0 is 1, and three are in flight")
	b.receive(2, reply(t, 3, 2))
	sent(5, "T5: a grant of 2 with two in flight")
	b.receive(3, reply(t, 4, 0xffffffff))
	sent(12, "T4: a huge grant is capped at our 8")
	b.receive(4, unhex(t, "00000063 00000001 00000001 00000000 00000000 00000000 00000000 00000063 00000000"))
	sent(12, "T16: a reverse Call's credit value is no grant")
	b.receive(5, unhex(t, "00000063 00000001 00000001 00000001 00000000 00000000 00000000"))
	sent(12, "T17: nor that of a NOMSG of unclear direction")
	b.receive(6, reply(t, 5, 8))
	sent(13, "so a Reply still sends one more")
	b.receive(7, reply(t, 5, 8))
	sent(13, "T63: the same again sends none")
	// T14: cancel one in flight; its credit comes back with the Reply only.
	b.step(engine.Event{Kind: engine.EventCancel, XID: 6, Call: nil})
	sent(13, "a cancellation by a stranger is none")
	ended := len(b.done)
	b.step(engine.Event{Kind: engine.EventCancel, XID: 6, Call: made[6]})
	if len(b.done) != ended+1 || b.done[ended] != made[6] || made[6].Err != nil || !made[6].Sent {
		t.Errorf("cancelled: %+v", made[6])
	}
	sent(13, "R135: a cancelled Call keeps its credit")
	b.call(call(6))
	if last := b.done[len(b.done)-1]; !errors.Is(last.Err, engine.ErrXIDInUse) {
		t.Errorf("XID of a cancelled Call used again: %v", last.Err)
	}
	b.receive(0, reply(t, 6, 8))
	sent(14, "T64: until its Reply came")
	// One that waits is taken out of the line, and was never sent.
	b.step(engine.Event{Kind: engine.EventCancel, XID: 20, Call: made[20]})
	if made[20].Sent || b.e.Stats().Waiting != 5 {
		t.Errorf("cancelled while it waited: sent %v, %d still wait", made[20].Sent, b.e.Stats().Waiting)
	}
	for x := uint32(7); x <= 19; x++ {
		b.receive(int(x)%8, reply(t, x, 8))
	}
	sent(19, "all")
	if s := b.e.Stats(); s.InFlight != 0 || s.Waiting != 0 || s.PostedRecvs != 8 || s.ZeroGrants != 1 || s.OverGrants != 1 {
		t.Errorf("%+v", s)
	}
}

// A send queue and send buffers that are full hold Calls back, in order (T130).
func TestSendQueueFull(t *testing.T) {
	b := newBench(t, engine.Requester, 8, 2)
	b.call(call(1))
	b.receive(0, reply(t, 1, 8))
	for x := uint32(2); x < 8; x++ {
		b.call(call(x))
	}
	for n := 2; n < 8; n++ { // the completion of call 1 is still due: one entry is in use
		if len(b.sent) != n {
			t.Fatalf("%d sent, want %d", len(b.sent), n)
		}
		if got := b.sent[n-1][3]; got != byte(n) {
			t.Fatalf("Call %d went as number %d", got, n)
		}
		b.complete()
	}
}

// When the connection breaks, each Call fails once, in order, and knows whether it was sent (R284,
// R285).
func TestBrokenConnectionEndsEachCallOnce(t *testing.T) {
	b := newBench(t, engine.Requester, 4, 4)
	calls := []*engine.Call{call(3), call(1), call(2)}
	for _, c := range calls {
		b.call(c)
	}
	reason := errors.New("the reason")
	b.step(engine.Event{Kind: engine.EventBroken, Err: reason}, engine.Event{Kind: engine.EventClose, Err: errors.New("another")})
	if b.fail != reason {
		t.Errorf("failed with %v", b.fail)
	}
	var order []uint32
	for _, c := range b.done {
		order = append(order, c.XID)
		if c.Err != reason || c.Sent != (c.XID == 3) {
			t.Errorf("Call %d: %v, sent %v", c.XID, c.Err, c.Sent)
		}
	}
	if diff := cmp.Diff([]uint32{1, 2, 3}, order); diff != "" {
		t.Error(diff)
	}
	b.call(call(4))
	if c := b.done[3]; c.Err != reason || c.Sent {
		t.Errorf("Call on a dead connection: %+v", c)
	}
	b.step(completion(verbs.WC{WRID: 0, Opcode: verbs.WCRecv, ByteLen: 44}), completion(verbs.WC{WRID: 77, Status: verbs.StatusFlushed}))
	if len(b.done) != 4 {
		t.Error("something ended twice")
	}
}

// A provider that breaks its contract ends only the connection.
func TestProviderFaults(t *testing.T) {
	for name, wc := range map[string]verbs.WC{
		"a Receive there is none of": {WRID: 99, Opcode: verbs.WCRecv},
		"more bytes than room":       {WRID: 0, Opcode: verbs.WCRecv, ByteLen: 1025},
		"a send out of order":        {WRID: 99, Opcode: verbs.WCSend},
		"T80: a key of ours ended":   {WRID: 0, Opcode: verbs.WCRecv, ByteLen: 44, InvalidatedRKey: 7},
		"an error":                   {WRID: 1, Status: verbs.StatusRemoteAccess},
	} {
		b := newBench(t, engine.Requester, 2, 2)
		b.call(call(1))
		b.step(completion(wc))
		if b.fail == nil || len(b.done) != 1 || b.done[0].Err != b.fail {
			t.Errorf("%s: %v", name, b.fail)
		}
	}
}

// T50, T128: a chain that does not complete closes the connection, at its timeout and not before.
func TestStuckChainEndsTheConnection(t *testing.T) {
	b := newBench(t, engine.Requester, 2, 2)
	b.now = 5 * time.Second
	b.call(call(1))
	if b.at != 6*time.Second {
		t.Fatalf("wants to be woken at %v", b.at)
	}
	b.now = 6*time.Second - 1
	b.step(engine.Event{Kind: engine.EventTimer})
	if b.fail != nil || b.at != 6*time.Second {
		t.Fatalf("too early: %v, again at %v", b.fail, b.at)
	}
	b.now++
	b.step(engine.Event{Kind: engine.EventTimer})
	if !errors.Is(b.fail, engine.ErrTimeout) || b.at != 0 {
		t.Errorf("%v, again at %v", b.fail, b.at)
	}
	b = newBench(t, engine.Requester, 2, 2)
	b.call(call(1))
	b.complete()
	if b.at != 0 {
		t.Errorf("nothing is posted, yet wants to be woken at %v", b.at)
	}
	b.now = time.Hour
	b.step(engine.Event{Kind: engine.EventTimer})
	if b.fail != nil {
		t.Error(b.fail)
	}
}

// A Call that was planned too large for its buffer is refused, and costs no credit (R33).
func TestTooLarge(t *testing.T) {
	b := newBench(t, engine.Requester, 2, 2)
	c := call(1)
	c.Payload = append(c.Payload, make([]byte, 1000))
	b.call(c)
	var se *engine.SizeError
	if len(b.done) != 1 || !errors.As(c.Err, &se) || se.Limit != 1024 || c.Sent || b.e.Stats().InFlight != 0 {
		t.Errorf("%+v", c)
	}
	b.call(call(1))
	if len(b.sent) != 1 {
		t.Error("the next Call was not sent")
	}
}

// Steady state allocates nothing.
func TestRequesterAllocates(t *testing.T) {
	b := newBench(t, engine.Requester, 2, 8)
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

// R15, R135, R188: a Reply of another version makes its Call fail with the reason, and frees the
// Call's credit. Otherwise the first Call of a connection would stop all others.
func TestReplyOfAnotherVersion(t *testing.T) {
	for _, vers := range []byte{0, 2, 255} {
		b := newBench(t, engine.Requester, 4, 16)
		b.call(call(1))
		b.call(call(2)) // waits for the credit of the first
		msg := reply(t, 1, 4)
		msg[7] = vers
		b.receive(0, msg)
		var f *header.Fault
		if len(b.done) != 1 || !errors.As(b.done[0].Err, &f) || f.Code != header.FaultVersion || f.Found != uint64(vers) {
			t.Fatalf("version %d: %d Calls over", vers, len(b.done))
		}
		if st := b.e.Stats(); st.Calls != 2 || st.InFlight != 1 || st.FaultyMessages != 1 || st.PostedRecvs != 4 {
			t.Errorf("version %d: %+v", vers, st)
		}
	}
}
