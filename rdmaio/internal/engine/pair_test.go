package engine_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// pair is two engines: the messages of one are the Receives of the other.
type pair struct {
	t      *testing.T
	now    time.Duration
	ends   [2]*side // the first one dialed
	memory map[uint32][]byte
}

// side is one end of a pair.
type side struct {
	p     *pair
	i     int
	e     *engine.Engine
	cfg   engine.Config
	posts []uint64 // Receives, oldest first
	wire  []flight // messages that have not arrived
	sent  [][]byte // all messages
	log   []string // requests of the send queue, in order
	done  []*engine.Call
	reqs  []*engine.Request
	out   []*engine.Request
	fail  error

	version  uint32 // 0: not known
	reserved int    // bytes, of Config.Reserve
	most     int    // most bytes reserved at a time
	asks     int    // calls of Config.Reserve
	counting bool   // it has version 2

	terms     header.Terms
	want      time.Duration // Effects.Deadline
	received  int           // messages
	granted   int           // credits
	allowed   int           // credits that the peer granted
	used      int           // messages sent, without grants
	sequence  [2]uint32     // XID and flags of the message that is being continued
	open      bool          // there is one
	completed []verbs.WC    // of the send queue
	auth      [][]byte      // Effects.Auth
	props     [][]header.Property
	others    []engine.Other
	posted    map[uint64]int // sizes of the Receives that are posted
	resized   []int          // Effects.Resized
	settledOf []any          // Effects.Settled
	told      int            // of terms, times
	unsent    int            // Effects.OthersSent
	wanted    int            // Effects.WantBuffers
	grants    uint64         // sent alone
	await     bool
	memory    *ledger // of continued messages
}

// flight is a message on its way, with the key that it invalidates.
type flight struct {
	b   []byte
	key uint32
}

// engineMemory is registered memory.
type engineMemory struct {
	verbs.MemoryRegion
	b []byte
}

// setup changes the configuration of end i.
type setup func(i int, c *engine.Config)

// speaks returns versions with these numbers, in this order, for end i.
func speaks(i int, numbers ...int) (list []protocol.Version) {
	for _, n := range numbers {
		if n == 1 {
			list = append(list, new(v1.Version))
			continue
		}
		own := v2.DefaultProperties()
		own.Reverse = v2.ReverseGeneral
		list = append(list, v2.New(v2.Config{Dialed: i == 0, Own: own, Invalidate: true}))
	}
	return list
}

// newPair connects two ends, with version 2. Each makes and serves so many Calls.
func newPair(t *testing.T, calls, serves [2]int, change setup) *pair {
	p := &pair{t: t, memory: make(map[uint32][]byte)}
	for i := range p.ends {
		p.ends[i] = p.newSide(i, calls[i], serves[i], change)
	}
	p.ends[0].step(engine.Event{Kind: engine.EventOpen})
	return p
}

// newSide makes end i of a pair.
func (p *pair) newSide(i, calls, serves int, change setup) *side {
	s := &side{p: p, i: i, counting: true, posted: make(map[uint64]int), memory: &ledger{t: p.t, out: make(map[*byte]bool)}}
	s.cfg = engine.Config{
		Role: engine.Role(i), Versions: speaks(i, 2, 1), Calls: calls, Serves: serves, SendWRs: 32, ReverseChunks: true,
		Limits:       chunk.Limits{Bytes: 1 << 20, Segments: 16, Chunks: 4, Transfer: 1 << 20},
		MaxContinued: 1 << 16, ContinueTimeout: time.Second, OfferTimeout: time.Second, OfferXID: 0xfffffff0,
		Reserve: func(n int) bool {
			s.reserved += n
			s.most = max(s.most, s.reserved)
			s.asks++
			return true
		},
		Memory: s.memory,
	}
	if change != nil {
		change(i, &s.cfg)
	}
	own := len(s.cfg.Send) == 0
	for range calls + serves + 2 {
		m := &engineMemory{b: make([]byte, 4096)}
		if own {
			s.cfg.Send = append(s.cfg.Send, engine.Buffer{MR: m, Bytes: m.b})
		}
		m = &engineMemory{b: make([]byte, 4096)}
		s.cfg.Recv = append(s.cfg.Recv, engine.Buffer{MR: m, Bytes: m.b})
	}
	s.allowed, s.granted = 1-i, i
	s.e = engine.New(s.cfg)
	s.step(engine.Event{Kind: engine.EventStart})
	return s
}

// peer is the other end.
func (s *side) peer() *side { return s.p.ends[1-s.i] }

// step runs events.
func (s *side) step(events ...engine.Event) {
	s.p.t.Helper()
	f := s.e.Step(s.p.now, events)
	for _, wr := range f.Recvs {
		s.posts = append(s.posts, wr.WRID)
		s.posted[wr.WRID] = wr.SGL[0].Length
	}
	for _, wr := range f.Sends {
		s.post(wr)
	}
	if f.Fail != nil {
		s.fail = f.Fail
		s.log = append(s.log, "fail")
	}
	if f.Terms != nil {
		s.version, s.terms = 0, *f.Terms
		if f.Version != nil {
			s.version = f.Version.Number()
		}
	}
	if f.Terms != nil {
		s.told++
	}
	s.others = append(s.others, f.Others...)
	s.settledOf = append(s.settledOf, f.Settled...)
	if f.Resized != 0 {
		s.resized = append(s.resized, f.Resized)
	}
	for _, r := range f.Deliver { // T20
		if cap(r.Message) != len(r.Message) {
			s.p.t.Errorf("end %d: a Call of %d bytes has the %d behind it, too", s.i, len(r.Message), cap(r.Message)-len(r.Message))
		}
	}
	s.await, s.wanted = f.Await, f.WantBuffers
	s.unsent += f.OthersSent
	s.want = f.Deadline
	s.auth = append(s.auth, f.Auth...)
	if f.Props != nil {
		s.props = append(s.props, f.Props)
	}
	s.done = append(s.done, f.Done...)
	s.reqs = append(s.reqs, f.Deliver...)
	s.out = append(s.out, f.Release...)
	var next []engine.Event
	for _, r := range f.Assemble {
		m := &engineMemory{b: make([]byte, r.AssemblySize)}
		r.Assembly = engine.Buffer{MR: m, Bytes: m.b}
		next = append(next, engine.Event{Kind: engine.EventAssembly, Request: r})
	}
	if len(next) > 0 {
		s.step(next...)
	}
}

// post carries out a request of the send queue; a message waits for deliver.
func (s *side) post(wr verbs.SendWR) {
	s.p.t.Helper()
	sge := wr.SGL[0]
	mem := sge.MR.(*engineMemory).b[sge.Offset : sge.Offset+sge.Length]
	s.log = append(s.log, wr.Opcode.String())
	op := verbs.WCSend
	switch wr.Opcode {
	case verbs.RDMARead:
		copy(mem, s.p.memory[wr.RKey][wr.RemoteAddr:])
		op = verbs.WCRDMARead
	case verbs.RDMAWrite:
		copy(s.p.memory[wr.RKey][wr.RemoteAddr:], mem)
		op = verbs.WCRDMAWrite
	default:
		b := append([]byte(nil), mem...)
		s.sent = append(s.sent, b)
		s.wire = append(s.wire, flight{b, wr.InvalidateRKey})
		if s.counting {
			s.count(b)
		}
	}
	if wr.Flags&verbs.SendSignaled != 0 {
		s.completed = append(s.completed, verbs.WC{WRID: wr.WRID, Opcode: op})
	}
}

// count checks a message of version 2 against the credits (R169 to R172, R175, R178), and against
// the message that is being continued (R155; A5).
func (s *side) count(b []byte) {
	s.p.t.Helper()
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	if word(1) != 2 || word(3) == 4 && len(b) == 28 { // ERR_VERS
		s.counting = false
		return
	}
	grant := word(3) == 1 && len(b) == 36 && word(0) == 0
	failed := word(3) == 4
	if grant {
		s.grants++
	}
	if !grant {
		if s.used++; s.used > s.allowed {
			s.p.t.Errorf("end %d sends %d messages, the peer has granted %d credits", s.i, s.used, s.allowed)
		}
	}
	if !failed {
		s.granted += int(word(2) & 0xffff)
	}
	if free := len(s.posts); free < s.granted-s.received+1 {
		s.p.t.Errorf("end %d: %d Receives are posted, and %d credits granted for %d messages", s.i, free, s.granted, s.received)
	}
	part := [2]uint32{word(0), word(4) &^ 2}
	switch {
	case grant || failed:
		return
	case s.open && (part != s.sequence || word(3) != 0):
		s.p.t.Errorf("end %d sends %x between parts", s.i, b[:20])
	}
	s.open, s.sequence = word(4)&2 != 0, part
}

// deliver passes the oldest message of this end to its peer. It reports whether there was one.
func (s *side) deliver() bool {
	s.p.t.Helper()
	q := s.peer()
	if len(s.wire) == 0 || q.fail != nil {
		s.wire = nil
		return false
	}
	m := s.wire[0]
	s.wire = s.wire[1:]
	q.receive(m.b, m.key)
	return true
}

// receive gives this end a message.
func (s *side) receive(b []byte, key uint32) {
	s.p.t.Helper()
	s.step(s.arrives(b, key))
}

// arrives puts a message into a Receive, and returns the event.
func (s *side) arrives(b []byte, key uint32) engine.Event {
	s.p.t.Helper()
	if len(s.posts) == 0 {
		s.p.t.Fatalf("end %d has no Receive", s.i)
	}
	i := s.posts[0]
	s.posts = s.posts[1:]
	buf := s.cfg.Recv[i].Bytes
	for k := range buf {
		buf[k] = 0x5a
	}
	n := copy(buf, b)
	if word := func(k int) uint32 { return binary.BigEndian.Uint32(b[4*k:]) }; len(b) >= 16 {
		s.received++
		if word(3) != 4 {
			low := int(word(2) & 0xffff)
			if s.received == 1 && s.i == 0 { // T8
				low = max(low, 1)
			}
			s.allowed += low
		} else if s.i == 0 && s.allowed == 1 {
			s.allowed++
		}
	}
	return completion(verbs.WC{WRID: i, Opcode: verbs.WCRecv, ByteLen: uint32(n), InvalidatedRKey: key})
}

// complete completes the requests that were posted.
func (s *side) complete() bool {
	s.p.t.Helper()
	if len(s.completed) == 0 || s.fail != nil {
		return false
	}
	wc := s.completed[0]
	s.completed = s.completed[1:]
	s.step(completion(wc))
	return true
}

// run delivers and completes everything.
func (p *pair) run() {
	p.t.Helper()
	for n := 0; ; n++ {
		moved := false
		for _, s := range p.ends {
			moved = s.complete() || moved
			moved = s.deliver() || moved
		}
		if !moved {
			return
		}
		if n > 100000 {
			p.t.Fatal("the ends exchange messages without end")
		}
	}
}

// call makes a Call with payload after its XID and type, and returns it.
func (s *side) call(xid uint32, payload []byte) *engine.Call {
	s.p.t.Helper()
	c := &engine.Call{XID: xid, Payload: [][]byte{rpcHead(xid, header.Call), payload}}
	s.step(engine.Event{Kind: engine.EventCall, Call: c})
	return c
}

// answer answers the oldest Request delivered with payload after its XID and type.
func (s *side) answer(payload []byte) *engine.Request {
	s.p.t.Helper()
	if len(s.reqs) == 0 {
		s.p.t.Fatalf("end %d has no Call to answer", s.i)
	}
	r := s.reqs[0]
	s.reqs = s.reqs[1:]
	r.Answer.Payload = append(r.Answer.Payload, rpcHead(r.XID, header.Reply), payload)
	s.step(engine.Event{Kind: engine.EventReply, Request: r})
	return r
}

// rpcHead returns the XID and the type of an RPC message.
func rpcHead(xid uint32, typ header.MsgType) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, xid), uint32(typ))
}

// pattern returns n bytes that differ from each other.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// settled checks that nothing is left over when all RPCs are done.
func (p *pair) settled() {
	p.t.Helper()
	p.run()
	for i, s := range p.ends {
		st := s.e.Stats()
		if s.reserved != 0 || st.SendQueueFilled != 0 || st.Waiting != 0 || st.InFlight != 0 || st.Reverse.InFlight != 0 || st.Abandoned != 0 {
			p.t.Errorf("end %d: %d bytes reserved, %+v", i, s.reserved, st)
		}
		if s.counting && st.GrantMessages != s.grants {
			p.t.Errorf("end %d counts %d grants, and sent %d", i, st.GrantMessages, s.grants)
		}
		s.step() // the memory of released Requests is given back
		if n := len(s.memory.out); n != 0 {
			p.t.Errorf("end %d has memory of %d continued messages", i, n)
		}
		if s.fail == nil && (st.PostedRecvs != len(s.posts) || len(s.posts) != len(s.cfg.Recv)) {
			p.t.Errorf("end %d: %d Receives are posted, it counts %d of %d", i, len(s.posts), st.PostedRecvs, len(s.cfg.Recv))
		}
	}
}
