package engine_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// newLegacy is newBench with the switch on.
func newLegacy(t *testing.T, role engine.Role, credits, wrs int) *bench {
	b := newBench(t, role, credits, wrs)
	b.cfg.Legacy, b.cfg.DoneTimeout = true, 5*time.Second
	if role == engine.Responder {
		for range credits { // R107
			b.cfg.Recv = append(b.cfg.Recv, engine.Buffer{Bytes: make([]byte, 1024)})
		}
	}
	b.recv, b.open = 0, make([]bool, len(b.cfg.Recv))
	b.e = engine.New(b.cfg)
	b.step(engine.Event{Kind: engine.EventStart})
	b.logged()
	return b
}

func doneMsg(t *testing.T, xid uint32) []byte {
	return unhex(t, fmt.Sprintf("%08x 00000001 00000020 00000003", xid))
}

// readChunkAnswer returns an answer with a read chunk of 5 bytes at a position.
func readChunkAnswer(t *testing.T, xid uint32, position uint32) engine.Answer {
	return engine.Answer{
		Payload: [][]byte{unhex(t, fmt.Sprintf("%08x 00000001 00000005", xid))},
		Results: &engine.Results{Reads: []header.ReadSegment{{Position: position, Segment: header.Segment{Handle: 0xdd, Length: 5, Offset: 0x1000}}}},
	}
}

// A Reply with read chunks as it is sent. Its memory is released by RDMA_DONE, not before it and
// not before the Send has completed, in either order (R104, R107, R110; T122).
func TestReadChunkReply(t *testing.T) {
	for _, c := range []struct {
		position uint32
		want     string
	}{
		{12, "cafe0001 00000001 00000004 00000000 00000001 0000000c 000000dd 00000005 00000000 00001000 00000000 00000000 00000000 cafe0001 00000001 00000005"},
		{0, "cafe0001 00000001 00000004 00000001 00000001 00000000 000000dd 00000005 00000000 00001000 00000000 00000000 00000000"},
	} {
		for _, doneFirst := range []bool{false, true} {
			b := newLegacy(t, engine.Responder, 4, 8)
			b.receive(0, unhex(t, short(0xcafe0001)))
			b.answer(readChunkAnswer(t, 0xcafe0001, c.position))
			if diff := cmp.Diff(unhex(t, c.want), b.sent[0]); diff != "" {
				t.Error(diff)
			}
			steps := []func(){b.complete, func() { b.receive(1, doneMsg(t, 0xcafe0001)) }}
			if doneFirst {
				slices.Reverse(steps)
			}
			steps[0]()
			if len(b.out) != 0 {
				t.Errorf("DONE first %v: released too early", doneFirst)
			}
			steps[1]()
			if len(b.out) != 1 || b.out[0].Err != nil {
				t.Errorf("DONE first %v: not released", doneFirst)
			}
			// Once more, and for an XID that is not due: dropped.
			b.receive(2, doneMsg(t, 0xcafe0001))
			b.receive(3, doneMsg(t, 7))
			if st := b.e.Stats(); st.DoneMessages != 1 || st.DroppedMessages != 2 || st.DoneMessagesDue != 0 || st.PostedRecvs != 8 || b.fail != nil {
				t.Errorf("%+v, %v", st, b.fail)
			}
		}
	}
}

// R108, T122: with as many DONEs due as Receives were set aside the next Reply waits, and is sent
// when one has come. The grant does not change: DONE never takes the Receive of a Call.
func TestHoldBack(t *testing.T) {
	b := newLegacy(t, engine.Responder, 2, 8)
	for xid := uint32(1); xid <= 2; xid++ {
		b.receive(b.free(), unhex(t, short(xid)))
		b.answer(readChunkAnswer(t, xid, 12))
		b.complete()
	}
	b.receive(b.free(), unhex(t, short(3)))
	b.receive(b.free(), unhex(t, short(4)))
	b.answer(readChunkAnswer(t, 3, 12))
	if st := b.e.Stats(); len(b.sent) != 2 || st.Waiting != 1 || st.DoneMessagesDue != 2 || st.PostedRecvs != 2 {
		t.Fatalf("%d sent, %+v", len(b.sent), st)
	}
	b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}}) // what lends nothing does not wait
	if len(b.sent) != 3 || b.sent[2][3] != 4 || b.sent[2][11] != 2 {
		t.Errorf("the inline Reply: %d sent", len(b.sent))
	}
	b.receive(b.free(), doneMsg(t, 2))
	if len(b.sent) != 4 || b.sent[3][3] != 3 || b.sent[3][11] != 2 {
		t.Errorf("after DONE: %d sent", len(b.sent))
	}
	if st := b.e.Stats(); st.Waiting != 0 || st.DoneMessagesDue != 2 {
		t.Errorf("%+v", st)
	}
	// One that turns out too large to be sent is an ERROR, and lets the next go.
	b = newLegacy(t, engine.Responder, 2, 1)
	for xid := uint32(1); xid <= 3; xid++ {
		b.receive(b.free(), unhex(t, short(xid)))
		a := readChunkAnswer(t, xid, 12)
		if xid == 2 {
			a.Payload = append(a.Payload, make([]byte, 1024))
		}
		b.answer(a) // the first is posted, the second waits for room, the third is deferred
	}
	b.complete()
	b.complete()
	if len(b.sent) != 3 || b.sent[1][15] != 4 || b.sent[2][3] != 3 || b.e.Stats().DoneMessagesDue != 2 {
		t.Errorf("%d sent, %+v", len(b.sent), b.e.Stats())
	}
}

// R109, T122: a peer that reads and sends no DONE has a limited time. All offered memory is
// released, once.
func TestNoDone(t *testing.T) {
	b := newLegacy(t, engine.Responder, 1, 8)
	b.now = time.Second
	b.receive(0, unhex(t, short(1)))
	b.answer(readChunkAnswer(t, 1, 12))
	if b.at != 2*time.Second {
		t.Errorf("wants to be woken at %v: the Send is due first", b.at)
	}
	b.complete()
	if b.at != 6*time.Second {
		t.Errorf("wants to be woken at %v", b.at)
	}
	b.receive(1, unhex(t, short(2)))
	b.answer(readChunkAnswer(t, 2, 12)) // held back
	b.now = 6*time.Second - 1
	b.step(engine.Event{Kind: engine.EventTimer})
	if b.fail != nil {
		t.Fatal("too early")
	}
	b.now++
	b.step(engine.Event{Kind: engine.EventTimer})
	if !errors.Is(b.fail, engine.ErrNoDone) || len(b.out) != 2 || b.out[0].Err != b.fail || b.out[1].Err != b.fail {
		t.Errorf("%v, %d released", b.fail, len(b.out))
	}
	// And with the Send still in the queue.
	b = newLegacy(t, engine.Responder, 1, 8)
	b.receive(0, unhex(t, short(1)))
	b.answer(readChunkAnswer(t, 1, 12))
	b.step(engine.Event{Kind: engine.EventClose, Err: errors.New("the end")})
	if len(b.out) != 1 {
		t.Errorf("%d released", len(b.out))
	}
}

// readChunkReply returns a Reply with a read chunk of 5 bytes at position 12, or with the whole
// message in read chunks.
func readChunkReply(t *testing.T, xid uint32, whole bool) []byte {
	if whole {
		return unhex(t, fmt.Sprintf("%08x 00000001 00000004 00000001 00000001 00000000 000000dd 0000000c 00000000 00001000 00000000 00000000 00000000", xid))
	}
	return unhex(t, fmt.Sprintf("%08x 00000001 00000004 00000000 00000001 0000000c 000000dd 00000005 00000000 00001000 00000000 00000000 00000000 %08x 00000001 00000005 77777777", xid, xid))
}

// R127, R267: such a Reply grants credits, also a long one: it has the XID of a Call, and cannot be
// a Call itself.
func TestFetchGrants(t *testing.T) {
	for _, whole := range []bool{false, true} {
		b := newLegacy(t, engine.Requester, 2, 8)
		b.call(call(1))
		b.complete()
		b.receive(0, readChunkReply(t, 1, whole))
		if n := b.e.Stats().Granted; n != 2 {
			t.Errorf("whole %v: %d credits granted, want 2", whole, n)
		}
	}
}

// A requester reads the chunks of the Reply, completes its Call with the whole message, and sends
// DONE with the same XID; the credit is free when DONE has been sent (R105, R106; T70).
func TestRequesterReadsChunksOfTheReply(t *testing.T) {
	b := newLegacy(t, engine.Requester, 2, 8)
	c := call(0xcafe0001)
	b.call(c)
	b.complete()
	b.logged()
	b.receive(0, readChunkReply(t, 0xcafe0001, false))
	if diff := cmp.Diff("read 5 bytes key 0xdd at 0x1000 signaled\n", b.logged()[len("recv 0\n"):]); diff != "" || len(b.done) != 0 {
		t.Fatalf("%d ended, %s", len(b.done), diff)
	}
	again := call(0xcafe0001)
	b.call(again)
	b.receive(1, readChunkReply(t, 0xcafe0001, false)) // a duplicate: no Call waits for it
	if st := b.e.Stats(); !errors.Is(again.Err, engine.ErrXIDInUse) || st.DroppedMessages != 1 || st.InFlight != 1 {
		t.Errorf("%v, %+v", again.Err, st)
	}
	b.complete()
	if diff := cmp.Diff("cafe0001"+"00000001"+"00000005"+"a5a5a5a5a5000000"+"77777777", hex.EncodeToString(c.Reply)); diff != "" || c.Err != nil {
		t.Errorf("%v, reply (a5 stands for the data of the Read): %s", c.Err, diff)
	}
	if diff := cmp.Diff(unhex(t, "cafe0001 00000001 00000002 00000003"), b.sent[1]); diff != "" {
		t.Error(diff)
	}
	// R106: the DONE has the Call's credit until it is out.
	b.call(call(2))
	b.call(call(3))
	if st := b.e.Stats(); st.InFlight != 2 || st.Waiting != 1 || len(b.out) != 0 {
		t.Errorf("before DONE is out: %+v", st)
	}
	b.complete()
	if st := b.e.Stats(); st.InFlight != 2 || st.Waiting != 0 || len(b.out) != 1 || st.DoneMessages != 1 || st.PostedRecvs != 2 {
		t.Errorf("after: %+v", st)
	}
}

// An unusable Reply fails the RPC, never the connection, and the peer still gets DONE, which
// releases its memory. Without Legacy it gets none (R113, R326; T70).
func TestFetchRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		msg  []byte
		err  string
	}{
		{"overlapping chunks", unhex(t, "00000001 00000001 00000004 00000000 00000001 0000000c 000000dd 00000005 00000000 00001000 00000001 00000010 000000dd 00000005 00000000 00001000 00000000 00000000 00000000 00000001 00000001 00000005"), "position 16 lies within the chunk before it"},
		{"4 GiB", unhex(t, "00000001 00000001 00000004 00000000 00000001 0000000c 000000dd ffffffff 00000000 00001000 00000000 00000000 00000000 00000001 00000001 00000005"), "bytes or more in chunks"},
		{"another XID within", unhex(t, "00000001 00000001 00000004 00000000 00000001 0000000c 000000dd 00000005 00000000 00001000 00000000 00000000 00000000 00000002 00000001 00000005"), "XID of the RPC message is 0x2"},
		{"a write chunk that was not offered", unhex(t, "00000001 00000001 00000004 00000000 00000001 0000000c 000000dd 00000005 00000000 00001000 00000000 00000001 00000000 00000000 00000000 00000001 00000001 00000005"), "1 elements returned, 0 offered"},
		{"by chunk, and no Reply", readChunkReply(t, 1, true), "XID of the RPC message is 0xa5a5a5a5"},
		{"its type by chunk", unhex(t, "00000001 00000001 00000004 00000000 00000001 00000004 000000dd 00000004 00000000 00001000 00000000 00000000 00000000 00000001 00000001"), "RPC message type 2779096485"},
	} {
		for _, legacy := range []bool{true, false} {
			b := newLegacy(t, engine.Requester, 2, 8)
			if !legacy {
				b = newBench(t, engine.Requester, 2, 8)
			}
			mine := call(1)
			b.call(mine)
			b.complete()
			b.receive(0, c.msg)
			b.settle()
			if !legacy {
				if st := b.e.Stats(); st.DoneMessages != 0 || len(b.sent) != 1 || c.name != "by chunk, and no Reply" && mine.Err == nil {
					t.Errorf("%s, without the switch: %v, %+v", c.name, mine.Err, st)
				}
				continue
			}
			if mine.Err == nil || !contains(mine.Err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, mine.Err)
			}
			if st := b.e.Stats(); st.DoneMessages != 1 || st.FaultyMessages != 1 || st.InFlight != 0 || st.PostedRecvs != 2 || b.fail != nil || len(b.out) != 1 {
				t.Errorf("%s: %+v, %v", c.name, st, b.fail)
			}
		}
	}
}

func contains(s, part string) bool {
	for i := range len(s) - len(part) + 1 {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

// A cancelled Call: before its Reply nothing is read, during the Read the result is discarded, and
// DONE is sent both times. If the connection is lost during the Read, the Call fails and the memory
// is released.
func TestFetchCancelled(t *testing.T) {
	for _, when := range []string{"before", "during", "lost"} {
		b := newLegacy(t, engine.Requester, 2, 8)
		c := call(1)
		b.call(c)
		b.complete()
		b.logged()
		cancel := engine.Event{Kind: engine.EventCancel, XID: 1, Call: c}
		if when == "before" {
			b.step(cancel)
			b.receive(0, readChunkReply(t, 1, false))
			if diff := cmp.Diff("recv 0\nsend 16 bytes signaled|solicited\n", b.logged()); diff != "" {
				t.Error(diff)
			}
			b.complete()
		} else {
			b.receive(0, readChunkReply(t, 1, false))
			if when == "lost" {
				b.step(engine.Event{Kind: engine.EventBroken, Err: errors.New("lost")})
				if len(b.done) != 1 || c.Err != b.fail || len(b.out) != 1 {
					t.Errorf("%d ended with %v, %d released", len(b.done), c.Err, len(b.out))
				}
				continue
			}
			b.step(cancel)
			b.complete()
			b.complete()
		}
		if st := b.e.Stats(); len(b.done) != 1 || c.Reply != nil || st.DoneMessages != 1 || st.InFlight != 0 || len(b.out) != 1 || st.PostedRecvs != 2 {
			t.Errorf("%s: %+v", when, st)
		}
	}
}

// R111 to R113, T123: impossible padding is ERR_CHUNK, and so is all padding without Legacy; valid
// padding is delivered with its message, and not with the next.
func TestImpossiblePaddingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name             string
		align, threshold uint32
		reads            string
		legacy, good     bool
	}{
		{"good", 4096, 1024, "00000000 ", true, true},
		{"the least", 1, 1, "00000000 ", true, true},
		{"the most", 1 << 18, 0xffffffff, "00000000 ", true, true},
		{"without the switch", 4096, 1024, "00000000 ", false, false},
		{"align 0", 0, 1024, "00000000 ", true, false},
		{"align 3", 3, 1024, "00000000 ", true, false},
		{"align 2^31", 1 << 31, 1024, "00000000 ", true, false},
		{"align beyond what a message may have", 1 << 19, 1024, "00000000 ", true, false},
		{"threshold 0", 4, 0, "00000000 ", true, false},
		{"and read chunks", 4, 1024, readKey, true, false},
	} {
		msg := unhex(t, fmt.Sprintf("cafe0001 00000001 00000020 00000002 %08x %08x %s 00000000 00000000 %s", c.align, c.threshold, c.reads, rpcCall))
		b := newLegacy(t, engine.Responder, 2, 8)
		if !c.legacy {
			b = newBench(t, engine.Responder, 2, 8)
		}
		b.receive(0, msg)
		b.receive(1, unhex(t, short(2)))
		if !c.good {
			if diff := cmp.Diff(unhex(t, "cafe0001 00000001 00000002 00000004 00000002"), b.sent[0]); diff != "" || len(b.reqs) != 1 {
				t.Errorf("%s: %d served, %s", c.name, len(b.reqs), diff)
			}
			continue
		}
		if len(b.reqs) != 2 {
			t.Fatalf("%s: %d served", c.name, len(b.reqs))
		}
		want := engine.Padding{Align: c.align, Threshold: c.threshold, Start: 36}
		if diff := cmp.Diff([]engine.Padding{want, {}}, []engine.Padding{b.reqs[0].Padding, b.reqs[1].Padding}); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		b.answer(engine.Answer{Payload: [][]byte{make([]byte, 8)}})
		if p := b.sent[0][15]; p != 0 {
			t.Errorf("%s: answered by procedure %d", c.name, p)
		}
	}
	// A dropped message's padding is not attributed to the next message.
	b := newLegacy(t, engine.Responder, 2, 8)
	b.receive(0, unhex(t, "00000001 00000001 00000004 00000002 00000040 00000008 00000000 00000000 00000000 00000001 00000001 00000000"))
	b.receive(0, unhex(t, short(2)))
	if len(b.reqs) != 1 || b.reqs[0].Padding != (engine.Padding{}) {
		t.Errorf("%d served, the first with %+v", len(b.reqs), b.reqs[0].Padding)
	}
	// A Reply's goes to the Call.
	b = newLegacy(t, engine.Requester, 2, 8)
	c := call(1)
	b.call(c)
	b.receive(0, unhex(t, "00000001 00000001 00000004 00000002 00000040 00000008 00000000 00000000 00000000 00000001 00000001 00000000"))
	if diff := cmp.Diff(engine.Padding{Align: 64, Threshold: 8, Start: 36}, c.Padding); diff != "" || c.Err != nil {
		t.Errorf("%v %s", c.Err, diff)
	}
}

// Random events with Replies that have read chunks: no more DONEs are due than there are Receives
// for, all is released once, and the engine comes to rest.
func TestRandomLegacy(t *testing.T) {
	held := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		const credits = 3
		b := newLegacy(t, engine.Responder, credits, 1+r.IntN(4))
		var unread []uint32
		out, xid := 0, uint32(0)
		for step := 0; step < 200 || len(b.reqs)+len(unread)+len(b.ids) > 0; step++ {
			if step > 5000 {
				t.Fatalf("seed %d: stuck with %+v", seed, b.e.Stats())
			}
			for ; out < len(b.sent); out++ {
				if m := b.sent[out]; m[19] == 1 { // has a read list
					unread = append(unread, uint32(m[2])<<8|uint32(m[3]))
				}
			}
			switch k := r.IntN(5); {
			case k == 0 && step < 200 && b.e.Stats().InFlight < credits:
				xid++
				b.receive(b.free(), unhex(t, short(xid)))
			case k == 1 && len(b.reqs) > 0:
				a := engine.Answer{Payload: [][]byte{make([]byte, 8)}}
				if r.IntN(3) > 0 {
					a = readChunkAnswer(t, b.reqs[0].XID, 12)
				}
				b.answer(a)
			case k == 2 && len(b.ids) > 0:
				b.complete()
			case k == 3 && len(unread) > 0:
				i := r.IntN(len(unread))
				b.receive(b.free(), doneMsg(t, unread[i]))
				unread = slices.Delete(unread, i, i+1)
			case k == 4 && r.IntN(20) == 0:
				b.receive(b.free(), doneMsg(t, 0xffff)) // of no Request
			}
			st := b.e.Stats()
			if st.DoneMessagesDue > credits {
				t.Fatalf("seed %d: %d DONEs due", seed, st.DoneMessagesDue)
			}
			if st.DoneMessagesDue == credits && st.Waiting > 0 {
				held++
			}
		}
		if st := b.e.Stats(); len(b.out) != int(xid) || st.Waiting != 0 || st.DoneMessagesDue != 0 || st.PostedRecvs != 2*credits || b.fail != nil {
			t.Fatalf("seed %d: %d of %d released, %+v", seed, len(b.out), xid, st)
		}
	}
	if held == 0 {
		t.Error("no Reply was deferred: the test proves too little")
	}
}

// Config.Legacy is for version 1: in version 2 a Reply with read chunks breaks a rule (R326), also
// if it comes in parts, whose memory is given back.
func TestLegacyHasNoEffectInVersion2(t *testing.T) {
	for _, parts := range []bool{false, true} {
		s := newTalking(t, 0, 3, 0, func(_ int, c *engine.Config) { c.Legacy = true })
		k := &engine.Call{XID: 1, Payload: [][]byte{rpcCall2(1)}}
		s.step(engine.Event{Kind: engine.EventCall, Call: k})
		s.settle()
		reply := peer2.Reply(1, rpcReply2(1))
		list := []peer2.Message{reply}
		if parts {
			list = reply.Split(4)
		}
		list[len(list)-1].Reads = []peertest.Segment{{Position: 8, Key: 7, Length: 4}}
		s.sent = nil
		s.get(list...)
		var f *header.Fault
		if !errors.As(k.Err, &f) || f.Code != header.FaultReads || s.fail != nil {
			t.Errorf("parts %v: the Call ended with %v, the connection with %v", parts, k.Err, s.fail)
		}
		if len(s.parsed()) != 0 || s.reserved != 0 {
			t.Errorf("parts %v: something was sent, or %d bytes are not given back", parts, s.reserved)
		}
	}
}
