package engine

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// An engine without a free send buffer asks for one for each message that waits for nothing else:
// answers, Calls with a credit, messages of control, and the parts of a continued message; for at
// least one, and for no more than it may borrow.
func TestWantedBuffers(t *testing.T) {
	for _, c := range []struct {
		name                     string
		answers, calls, controls int
		left                     int // bytes of a continued message; 0: none
		want                     int
	}{
		{"nothing: a grant", 0, 0, 0, 0, 1},
		{"answers", 3, 0, 0, 0, 3},
		{"Calls, of which one has a credit", 0, 3, 0, 0, 1},
		{"messages of control", 0, 0, 2, 0, 2},
		{"all", 2, 3, 1, 0, 4},
		{"an answer and the rest of a message", 1, 0, 0, 2500, 4},
		{"the last bytes of a message", 0, 0, 0, 1, 1},
		{"more than may be borrowed", 30, 0, 0, 0, 10},
	} {
		e := New(Config{Role: Requester, Versions: []protocol.Version{new(v1.Version)}, Calls: 8, Serves: 8, SendWRs: 64, MaxBorrowed: 10, Send: []Buffer{{Bytes: make([]byte, 100)}}})
		e.sends.buffers.take(e.sends.buffers.last(), 100)
		e.terms.Send = 1000
		for range c.answers {
			e.responder.answers.push(&Request{Answer: Answer{Payload: [][]byte{make([]byte, 60)}}})
		}
		for range c.calls {
			e.requester.waiting.push(&pending{call: &Call{Payload: [][]byte{make([]byte, 60)}}})
		}
		for range c.controls {
			e.control.queue.push(outgoing{})
		}
		if c.left > 0 {
			e.sends.sequence.open, e.sends.sequence.left = true, c.left
		}
		e.wantBuffers()
		if e.eff.WantBuffers != c.want || !e.sends.buffers.asked {
			t.Errorf("%s: %d buffers are wanted, want %d", c.name, e.eff.WantBuffers, c.want)
		}
		e.eff.WantBuffers = 0
		if e.wantBuffers(); e.eff.WantBuffers != 0 {
			t.Errorf("%s: %d more are wanted before the first have come", c.name, e.eff.WantBuffers)
		}
	}
}

// Small messages that wait share the buffers that the engine asks for.
func TestWantedBuffersForSmallMessages(t *testing.T) {
	e := New(Config{Role: Responder, Versions: []protocol.Version{new(v1.Version)}, Serves: 16, SendWRs: 64, MaxBorrowed: 15, Send: []Buffer{{Bytes: make([]byte, 1000)}}})
	e.sends.buffers.take(e.sends.buffers.last(), 1000)
	for range 10 { // each takes 128 bytes
		e.responder.answers.push(&Request{state: queued, Answer: Answer{Payload: [][]byte{make([]byte, 60)}}})
	}
	if e.wantBuffers(); e.eff.WantBuffers != 2 {
		t.Errorf("%d buffers are wanted for 1,280 bytes, want 2 of 1,000", e.eff.WantBuffers)
	}
}

// An answer alone that finds no send buffer makes the engine stuck, and ask for one.
func TestAnswerWithoutBuffer(t *testing.T) {
	e := New(Config{Role: Responder, Versions: []protocol.Version{new(v1.Version)}, Serves: 8, SendWRs: 64, MaxBorrowed: 10, Send: []Buffer{{Bytes: make([]byte, 100)}}})
	e.sends.buffers.take(e.sends.buffers.last(), 100)
	for range 2 {
		e.responder.answers.push(&Request{state: queued, Answer: Answer{Payload: [][]byte{make([]byte, 60)}}})
	}
	if e.pump(); !e.stuck || e.eff.WantBuffers != 2 || e.responder.answers.len() != 2 {
		t.Errorf("stuck %v, %d buffers are wanted, %d answers wait", e.stuck, e.eff.WantBuffers, e.responder.answers.len())
	}
}

// newJoiner returns the joiner of a client with ReplyTo memory of size bytes for one Call, and the
// bytes that it has reserved.
func newJoiner(longest, size int) (j *joiner, into *Call, reserved *int) {
	reserved = new(int)
	e := New(Config{
		Role: Requester, Versions: []protocol.Version{v2.New(v2.Config{Dialed: true, Own: v2.DefaultProperties()})}, Calls: 2, SendWRs: 8,
		Send: make([]Buffer, 1), Recv: make([]Buffer, 4), MaxContinued: longest,
		Reserve: func(n int) bool { *reserved += n; return true },
	})
	return &e.joiner, &Call{ReplyTo: make([]byte, 0, size)}, reserved
}

// The parts of a Reply fill the memory of its Call to the last byte, and only one more moves them
// to memory of the connection. A message may have exactly Config.MaxContinued bytes.
func TestPartsFillTheirMemory(t *testing.T) {
	const longest = 20000
	for _, c := range []struct {
		name          string
		memory, total int
		moves, skips  bool
	}{
		{"with room", 3000, 2000, false, false},
		{"exactly full", 2000, 2000, false, false},
		{"a byte more", 1999, 2000, true, false},
		{"as long as allowed", longest, longest, false, false},
		{"longer than allowed", longest + 1, longest + 1, false, true},
		{"as long as allowed, elsewhere", 100, longest, true, false},
		{"longer than allowed, elsewhere", 100, longest + 1, true, true},
	} {
		j, into, reserved := newJoiner(longest, c.memory)
		payload := bytes.Repeat([]byte{7}, c.total)
		into.ReplyTo = into.ReplyTo[:0:c.memory]
		for at := 0; at < c.total; at += 1000 {
			m := &header.Message{Kind: header.KindMsg, Answer: true, XID: 9, Payload: payload[at:min(at+1000, c.total)], More: at+1000 < c.total}
			whole, own, f := j.add(m, protocol.Answer, into)
			if whole != !m.More || c.skips && whole && (f == nil || f.Code != header.FaultLong || f.Found != uint64(c.total) || f.Want != longest) || !c.skips && f != nil {
				t.Fatalf("%s: whole %v at %d, fault %+v", c.name, whole, at, f)
			}
			if !whole || c.skips {
				continue
			}
			if len(m.Payload) != c.total || (own != nil) != c.moves || (*reserved > 0) != c.moves {
				t.Errorf("%s: %d bytes, moved %v, %d bytes reserved", c.name, len(m.Payload), own != nil, *reserved)
			}
		}
		if c.skips && *reserved != 0 || j.state != joinIdle || j.parts+j.size != 0 {
			t.Errorf("%s: %d bytes stay reserved, state %d", c.name, *reserved, j.state)
		}
	}
}

// A message may have maxParts parts, however short, and not one more.
func TestNumberOfParts(t *testing.T) {
	for more, want := range map[int]joinState{0: joinOpen, 1: joinSkipping} {
		j, into, _ := newJoiner(1<<20, 100)
		j.state, j.buf, j.into = joinOpen, into.ReplyTo[:0], into
		for range maxParts + more {
			j.take(nil)
		}
		if j.state != want || j.parts != maxParts+more {
			t.Errorf("%d parts: state %d, want %d", j.parts, j.state, want)
		}
	}
}

// counting is an account that counts the Receives that are posted, and the messages received.
type counting struct {
	protocol.Account
	posted, received int
}

func (c *counting) Posted(n int) { c.posted += n }

func (c *counting) Received(*header.Message, *header.Fault, protocol.Purpose) *header.Fault {
	c.received++
	return nil
}

// The Receive of a message that the credit account does not count is posted again without it: one
// that comes before a version is known, before an answer to the offer, or of another version. All
// others are counted, once each.
func TestUncountedReceives(t *testing.T) {
	own := v2.DefaultProperties()
	const one, two = 1, 2
	prefix := func(version byte, rest ...byte) []byte {
		return append([]byte{0, 0, 0, 9, 0, 0, 0, version, 0, 9, 0, 9, 0, 0, 0, 1}, rest...)
	}
	grant := prefix(two, make([]byte, 20)...)
	for _, c := range []struct {
		name     string
		role     Role
		versions int // 2: both
		state    versionState
		b        []byte
		counted  bool
	}{
		{"short, at the end that accepted", Responder, 2, versionOpen, []byte("short"), false},
		{"of an unknown version", Responder, 2, versionOpen, prefix(7), false},
		{"the first message", Responder, 2, versionOpen, grant, true},
		{"short, after the offer", Requester, 2, versionOffered, []byte("short"), false},
		{"of version 1, after the offer", Requester, 2, versionOffered, prefix(one, make([]byte, 12)...), false},
		{"an answer to the offer", Requester, 2, versionOffered, grant, true},
		{"of version 1, later", Responder, 2, versionFixed, prefix(one, make([]byte, 12)...), false},
		{"short, later", Responder, 2, versionFixed, []byte("short"), true},
		{"later", Requester, 2, versionFixed, grant, true},
	} {
		e := New(Config{
			Role: c.role, Versions: []protocol.Version{v2.New(v2.Config{Dialed: c.role == Requester, Own: own}), new(v1.Version)}[:c.versions],
			Calls: 2, Serves: 2, SendWRs: 8, Send: make([]Buffer, 1), Recv: []Buffer{{Bytes: make([]byte, 4096)}, {Bytes: make([]byte, 4096)}},
		})
		e.Step(0, []Event{{Kind: EventStart}})
		account := &counting{Account: e.account}
		e.negotiation.state, e.account = c.state, account
		copy(e.cfg.Recv[1].Bytes, c.b)
		e.eff.reset()
		before := e.stats
		e.received(&verbs.WC{WRID: 1, Opcode: verbs.WCRecv, ByteLen: uint32(len(c.b))})
		n := 0
		if c.counted {
			n = 1
		}
		if account.posted != n || account.received != n {
			t.Errorf("%s: %d messages and %d Receives are counted, want %d", c.name, account.received, account.posted, n)
		}
		if e.stats.Received != before.Received+1 || e.stats.PostedRecvs != before.PostedRecvs || len(e.eff.Recvs) != 1 || e.eff.Recvs[0].WRID != 1 || e.delivered != uint64(len(c.b)) {
			t.Errorf("%s: %d received, %d posted, %d bytes; posts %+v", c.name, e.stats.Received, e.stats.PostedRecvs, e.delivered, e.eff.Recvs)
		}
	}
}
