package engine_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const rpcCall = "cafe0001 00000000 11111111 00000005 22222222"

func short(xid uint32) string {
	return fmt.Sprintf("%08x 00000001 00000020 00000000 00000000 00000000 00000000 %08x 00000000 33333333", xid, xid)
}

// answer gives a reply to the oldest Request delivered.
func (b *bench) answer(a engine.Answer) *engine.Request {
	b.t.Helper()
	r := b.reqs[0]
	b.reqs = b.reqs[1:]
	r.Answer = a
	b.step(engine.Event{Kind: engine.EventReply, Request: r})
	return r
}

// A Call with a read chunk, by hand: inline bytes, pad and read to their places,
// then the Reply with Receive, Writes and Send in that order (R4, R68, R73, R79, R80, R133).
func TestCallWithChunks(t *testing.T) {
	b := newBench(t, engine.Responder, 4, 16)
	b.logged()
	b.receive(0, unhex(t, `cafe0001 00000001 00000020 00000000
		00000001 00000010 000000aa 00000005 00000000 00001000 00000000
		00000001 00000002 000000bb 00000003 00000000 00002000 000000bc 00000009 00000000 00003000 00000000
		00000000 `+rpcCall))
	if diff := cmp.Diff("read 5 bytes key 0xaa at 0x1000 signaled\n", b.logged()); diff != "" {
		t.Fatal(diff)
	}
	if len(b.reqs) != 0 {
		t.Fatal("delivered before its data")
	}
	b.complete()
	r := b.reqs[0]
	want := "cafe0001000000001111111100000005" + "a5a5a5a5a5" + "000000" + "22222222"
	if diff := cmp.Diff(want, hex.EncodeToString(r.Message)); diff != "" {
		t.Errorf("message (a5 stands for the data of the Read): %s", diff)
	}
	if diff := cmp.Diff([]chunk.Placed{{At: 16, Len: 5}}, r.Placed); diff != "" {
		t.Error(diff)
	}
	if l := r.Offered(); len(l.Reads) != 0 || len(l.Writes) != 1 {
		t.Errorf("offers %+v", l)
	}
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001"), unhex(t, "44444444")}, Results: &engine.Results{Data: []verbs.SGE{{Length: 7}}}})
	if diff := cmp.Diff("recv 0\nwrite 3 bytes key 0xbb at 0x2000 none\nwrite 4 bytes key 0xbc at 0x3000 none\nsend 80 bytes signaled|solicited\n", b.logged()); diff != "" {
		t.Error(diff)
	}
	wantSent := unhex(t, `cafe0001 00000001 00000004 00000000
		00000000
		00000001 00000002 000000bb 00000003 00000000 00002000 000000bc 00000004 00000000 00003000 00000000
		00000000 cafe0001 00000001 44444444`)
	if diff := cmp.Diff(wantSent, b.sent[0]); diff != "" {
		t.Error(diff)
	}
	if len(b.out) != 0 {
		t.Error("memory given back before the Send completed")
	}
	b.complete()
	if diff := cmp.Diff("release 0xcafe0001: <nil>\n", b.logged()); diff != "" {
		t.Error(diff)
	}
}

// A long Reply goes to the reply chunk, an inline one returns it unused (R98, R99).
func TestReplyChunk(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 16)
	withReply := `cafe0001 00000001 00000020 00000000 00000000 00000000 00000001 00000001 000000cc 00000100 00000000 00004000 ` + rpcCall
	b.receive(0, unhex(t, withReply))
	b.receive(1, unhex(t, withReply))
	b.logged()
	b.answer(engine.Answer{Results: &engine.Results{Long: verbs.SGE{Length: 0x80}}})
	b.answer(engine.Answer{Payload: [][]byte{unhex(t, "cafe0001 00000001 44444444")}})
	if diff := cmp.Diff("recv 0\nwrite 128 bytes key 0xcc at 0x4000 none\nsend 48 bytes signaled|solicited\nrecv 1\nsend 60 bytes signaled|solicited\nrelease 0xcafe0001: <nil>\n", b.logged()); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		"cafe0001 00000001 00000002 00000001 00000000 00000000 00000001 00000001 000000cc 00000080 00000000 00004000",
		"cafe0001 00000001 00000002 00000000 00000000 00000000 00000001 00000001 000000cc 00000000 00000000 00004000 cafe0001 00000001 44444444",
	} {
		if diff := cmp.Diff(unhex(t, want), b.sent[i]); diff != "" {
			t.Errorf("reply %d: %s", i, diff)
		}
	}
}

// Grants: never more than asked for, nor than Receives back them (R129, R132, R133; T6).
func TestGrantsAreBackedByReceives(t *testing.T) {
	b := newBench(t, engine.Responder, 4, 16)
	for i, want := range []uint32{0, 2, 3, 0xffffffff} {
		msg := unhex(t, short(uint32(i)))
		copy(msg[8:12], []byte{byte(want >> 24), byte(want >> 16), byte(want >> 8), byte(want)})
		b.receive(i, msg)
	}
	for range 4 {
		b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
	}
	for i, want := range []byte{1, 2, 3, 4} {
		if got := b.sent[i][11]; got != want {
			t.Errorf("reply %d grants %d, want %d", i, got, want)
		}
	}
}

// With one send buffer busy, answers and errors wait, in order, each with its Receive: a flood is
// bounded (T128).
func TestAnswersWait(t *testing.T) {
	b := newBench(t, engine.Responder, 3, 16)
	for i := range 3 {
		b.receive(i, unhex(t, short(uint32(i))))
	}
	for range 3 {
		b.answer(engine.Answer{Payload: [][]byte{make([]byte, 960)}})
	}
	for i := range 3 { // the three send buffers are in use: bad Calls get no answer yet
		b.receive(i, unhex(t, fmt.Sprintf("%08x 00000001 00000020 00000009 00000000 00000000 00000000", 10+i)))
	}
	if len(b.sent) != 3 || b.recv != 0 || b.e.Stats().Waiting != 3 {
		t.Fatalf("%d sent, %d Receives posted, %d wait", len(b.sent), b.recv, b.e.Stats().Waiting)
	}
	for i := range 3 {
		b.complete()
		if len(b.sent) != 4+i || b.sent[3+i][3] != byte(10+i) || b.recv != 1+i {
			t.Errorf("after completion %d: %d sent, %d Receives posted", i, len(b.sent), b.recv)
		}
	}
}

// R14, T130: a chain that does not fit waits for room, and nothing overtakes it.
func TestChainsWait(t *testing.T) {
	b := newBench(t, engine.Responder, 4, 4)
	three := "00000001 00000010 000000aa 00000004 00000000 00001000 "
	pull := func(xid uint32) []byte {
		return unhex(t, fmt.Sprintf("%08x 00000001 00000020 00000000 %s 00000000 00000000 00000000 %08x 00000000 11111111 00000005 22222222", xid, three+three+three, xid))
	}
	b.logged()
	b.receive(0, pull(1))
	b.receive(1, pull(2))
	// An error answer: one entry would do.
	b.receive(2, unhex(t, "00000003 00000001 00000020 00000009 00000000 00000000 00000000"))
	if got := b.e.Stats(); got.SendQueueFilled != 3 || got.Waiting != 2 {
		t.Fatalf("%+v", got)
	}
	b.complete()
	if got := b.e.Stats(); got.SendQueueFilled != 4 || got.Waiting != 0 || len(b.reqs) != 1 {
		t.Fatalf("%+v, %d delivered", got, len(b.reqs))
	}
}

// R288: a probe is a Write of no bytes without a key. If there is no room for it, the work in the
// send queue does the same.
func TestProbeIsAWriteOfNoBytes(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 2)
	b.logged()
	for range 3 {
		b.step(engine.Event{Kind: engine.EventProbe})
	}
	if got, want := b.logged(), strings.Repeat(verbs.RDMAWrite.String()+" 0 bytes "+fmt.Sprint(verbs.SendSignaled)+"\n", 2); got != want {
		t.Errorf("found\n%swant\n%s", got, want)
	}
	b.complete()
	b.step(engine.Event{Kind: engine.EventProbe})
	if got := b.e.Stats().SendQueueFilled; got != 2 {
		t.Errorf("%d entries are used, want 2: one has completed", got)
	}
	b.step(engine.Event{Kind: engine.EventClose, Err: errors.New("closed")})
	b.logged()
	if b.step(engine.Event{Kind: engine.EventProbe}); b.logged() != "" {
		t.Error("a closed connection is probed")
	}
}

// R288: a probe that does not complete within its limit closes the connection, whatever the limit
// for other work is, and one that completes does not. Work before the probe has its limit.
func TestProbeHasALimit(t *testing.T) {
	for _, tt := range []struct {
		name          string
		chain, limit  time.Duration
		full, answers bool
		ends          time.Duration // 0: never
	}{
		{"answered", 10 * time.Second, 2 * time.Second, false, true, 0},
		{"not answered", 10 * time.Second, 2 * time.Second, false, false, 2 * time.Second},
		{"the other limit is less", time.Second, 2 * time.Second, false, false, time.Second},
		{"no other limit", 0, 2 * time.Second, false, false, 2 * time.Second},
		{"the queue is full", 10 * time.Second, 2 * time.Second, true, false, 2 * time.Second},
	} {
		b := newBench(t, engine.Responder, 2, 2)
		b.cfg.ChainTimeout = tt.chain
		b.e, b.recv, b.open = engine.New(b.cfg), 0, make([]bool, 2)
		b.step(engine.Event{Kind: engine.EventStart})
		if tt.full {
			for range 2 {
				b.step(engine.Event{Kind: engine.EventProbe})
			}
		}
		b.step(engine.Event{Kind: engine.EventProbe, Control: &engine.Control{Limit: tt.limit}})
		if tt.answers {
			b.complete()
		}
		for at := time.Second; at <= 5*time.Second; at += time.Second {
			b.now = at - 1
			b.step(engine.Event{Kind: engine.EventTimer})
			early := b.fail
			b.now = at
			b.step(engine.Event{Kind: engine.EventTimer})
			switch ended := b.fail != nil && early == nil; {
			case ended != (at == tt.ends):
				t.Errorf("%s: after %v: ended: %v, %v", tt.name, at, b.fail != nil, b.fail)
			case ended && tt.ends == tt.limit && !strings.Contains(b.fail.Error(), "probe within 2s"):
				t.Errorf("%s: %v", tt.name, b.fail)
			}
		}
	}
}

// A Call whose memory cannot be had is refused, not dropped (R125).
func TestNoMemory(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 8)
	msg := unhex(t, "cafe0001 00000001 00000020 00000000 00000001 00000014 000000aa 00000004 00000000 00001000 00000000 00000000 00000000 "+rpcCall)
	copy(b.cfg.Recv[0].Bytes, msg)
	f := b.e.Step(0, []engine.Event{completion(verbs.WC{WRID: 0, Opcode: verbs.WCRecv, ByteLen: uint32(len(msg))})})
	// The chunk has position 20.
	if len(f.Assemble) != 1 || f.Assemble[0].AssemblySize != 24 || f.Assemble[0].AssemblyLead != 64-20 {
		t.Fatalf("assemble %+v", f.Assemble)
	}
	b.recv, b.open[0] = b.recv-1, false
	b.step(engine.Event{Kind: engine.EventAssembly, Request: f.Assemble[0], Err: errors.New("none left")})
	if diff := cmp.Diff(unhex(t, "cafe0001 00000001 00000002 00000004 00000002"), b.sent[0]); diff != "" {
		t.Error(diff)
	}
}

// The end with Requests in every state: each is released once, one that a handler has when it
// answers (T126).
func TestBrokenResponder(t *testing.T) {
	b := newBench(t, engine.Responder, 4, 8)
	// Answered, Send not complete.
	b.receive(0, unhex(t, short(1)))
	// With the handler.
	b.receive(1, unhex(t, short(2)))
	// Being read.
	b.receive(2, unhex(t, "cafe0001 00000001 00000020 00000000 00000001 00000014 000000aa 00000004 00000000 00001000 00000000 00000000 00000000 "+rpcCall))
	b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
	reason := errors.New("the reason")
	b.step(engine.Event{Kind: engine.EventBroken, Err: reason})
	if len(b.out) != 2 {
		t.Fatalf("%d released, want those with a chain", len(b.out))
	}
	r := b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
	if len(b.out) != 3 || b.out[2] != r || r.Err != reason {
		t.Errorf("late answer: %v", r.Err)
	}
}

// Refused by the driver: T52, T57.
func TestRefuseAnswer(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 8)
	b.receive(0, unhex(t, short(0xcafe0001)))
	b.answer(engine.Answer{Refuse: header.Error{Code: header.ErrChunk}, Payload: [][]byte{make([]byte, 8)}})
	if diff := cmp.Diff(unhex(t, "cafe0001 00000001 00000002 00000004 00000002"), b.sent[0]); diff != "" {
		t.Error(diff)
	}
}

// FuzzEngine feeds two messages of any bytes to an engine of either role, with one direction or
// both, with Legacy or without, that has a Call in flight. It answers delivered Requests, and
// checks the invariants after each step. In the end all is released, and the Call has completed
// once.
func FuzzEngine(f *testing.F) {
	const call1 = "00000001 00000001 00000004 00000000 00000000 00000000 00000000 00000001 00000000 11223344"
	reply1 := "00000001 00000001 00000004 00000000 00000000 00000000 00000000 00000001 00000001 11223344"
	for _, m := range []string{
		short(1), call1, reply1,
		"cafe0001 00000001 00000020 00000000 00000001 00000010 000000aa 00000005 00000000 00001000 00000000 00000001 00000001 000000bb 00000009 00000000 00002000 00000000 00000000 " + rpcCall,
		"00000001 00000001 00000004 00000004 00000002",
		"00000001 00000001 00000004 00000003",
		"00000001 00000001 00000004 00000002 00000010 00000010 00000000 00000000 00000000 00000001 00000000 11223344",
		"00000001 00000001 00000004 00000001 00000001 00000000 000000dd 0000000c 00000000 00001000 00000000 00000000 00000000",
		"00000001 00000001 00000004 00000000 00000001 0000000c 000000dd 00000005 00000000 00001000 00000000 00000000 00000000 00000001 00000001 00000005",
	} {
		for kind := range byte(16) {
			f.Add(unhex(f, m), unhex(f, call1), kind)
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte, kind byte) {
		if len(first) > 1024 || len(second) > 1024 {
			return
		}
		role, both, legacy, chunks := engine.Role(kind&1), kind&2 != 0, kind&4 != 0, kind&8 != 0
		calls, serves := 2, 2
		if !both && role == engine.Requester {
			serves = 0
		} else if !both {
			calls = 0
		}
		b := newBoth(t, role, calls, serves, 64)
		b.cfg.Legacy, b.cfg.ReverseChunks, b.cfg.DoneTimeout = legacy, chunks, time.Second
		if legacy && role == engine.Responder {
			b.cfg.Recv = append(b.cfg.Recv, engine.Buffer{Bytes: make([]byte, 1024)}, engine.Buffer{Bytes: make([]byte, 1024)})
		}
		b.recv, b.open = 0, make([]bool, len(b.cfg.Recv))
		b.e = engine.New(b.cfg)
		b.step(engine.Event{Kind: engine.EventStart})
		c := call(1)
		copy(c.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 1, Length: 100}})
		if calls > 0 {
			b.call(c)
		}
		served := 0
		for _, msg := range [][]byte{first, second, first} {
			if b.fail != nil {
				break
			}
			b.receive(b.free(), msg)
			b.settle()
			for len(b.reqs) > 0 {
				if len(b.reqs[0].Message) < 8 {
					t.Errorf("message of %d bytes delivered", len(b.reqs[0].Message))
				}
				served++
				b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
			}
			b.settle()
		}
		if b.fail == nil && b.recv != len(b.cfg.Recv) {
			t.Fatalf("%d Receives posted, of %d", b.recv, len(b.cfg.Recv))
		}
		if b.fail == nil && len(b.sent) > 1+3 {
			t.Fatalf("%d messages sent, by one Call and three messages received", len(b.sent))
		}
		b.step(engine.Event{Kind: engine.EventClose, Err: errors.New("end")})
		if calls > 0 && len(b.done) != 1 {
			t.Errorf("the Call ended %d times", len(b.done))
		}
		if len(b.out) < served {
			t.Errorf("%d Requests served, %d released", served, len(b.out))
		}
	})
}

// A Call of as many bytes as an int can hold, where the limits allow that: the requested size never
// exceeds an int.
func TestLargestCall(t *testing.T) {
	b := newBench(t, engine.Responder, 2, 8)
	b.cfg.Limits.Bytes, b.cfg.Limits.Transfer = math.MaxInt32, math.MaxInt32
	b.e = engine.New(b.cfg)
	b.e.Step(0, []engine.Event{{Kind: engine.EventStart}})
	msg := unhex(t, "cafe0001 00000001 00000020 00000000 00000001 00000014 000000aa 7fffffe8 00000000 00001000 00000000 00000000 00000000 "+rpcCall)
	copy(b.cfg.Recv[0].Bytes, msg)
	f := b.e.Step(0, []engine.Event{completion(verbs.WC{WRID: 0, Opcode: verbs.WCRecv, ByteLen: uint32(len(msg))})})
	if len(f.Assemble) != 1 {
		t.Fatalf("assemble %+v", f.Assemble)
	}
	if r := f.Assemble[0]; r.AssemblySize != 0x7fffffe8+20 || r.AssemblyLead+r.AssemblySize < r.AssemblySize {
		t.Errorf("%d bytes behind %d", r.AssemblySize, r.AssemblyLead)
	}
}

// TestAnswerTwice: a second EventReply for the same Request is refused, and the connection is
// closed. The first answer is then lost.
func TestAnswerTwice(t *testing.T) {
	b := newBench(t, engine.Responder, 4, 16)
	b.receive(0, unhex(t, short(1)))
	r := b.reqs[0]
	r.Answer = engine.Answer{Payload: [][]byte{make([]byte, 8)}}
	reply := engine.Event{Kind: engine.EventReply, Request: r}
	b.step(reply, reply)
	if !errors.Is(b.fail, engine.ErrInternal) {
		t.Errorf("connection ended with %v, want %v", b.fail, engine.ErrInternal)
	}
}
