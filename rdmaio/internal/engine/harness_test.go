package engine_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// bench is an engine with its memory, and a log of what it wants done. There is no provider.
type bench struct {
	t    *testing.T
	e    *engine.Engine
	cfg  engine.Config
	now  time.Duration
	recv int    // Receives posted
	open []bool // which
	sent [][]byte
	ids  []uint64 // of signaled sends not completed
	log  strings.Builder
	done []*engine.Call
	reqs []*engine.Request
	out  []*engine.Request // released
	fail error
	at   time.Duration
	wait bool // Effects.Await

	mem      [][]byte         // of send buffers, which follow each other in one region
	wanted   int              // Effects.WantBuffers, not answered
	returned []*engine.Buffer // and no longer the engine's
	flying   []inFlight       // Sends that are not completed
}

// inFlight is a message that the provider may still read.
type inFlight struct {
	id   uint64
	at   int // as in an element
	text []byte
}

// inMemory returns n bytes that an element of a Send names.
func (b *bench) inMemory(at, n int) []byte { return b.mem[at/sendSize][at%sendSize:][:n] }

// sendSize is the size of a send buffer.
const sendSize = 1024

// newBench has only what the role does in the forward direction.
func newBench(t *testing.T, role engine.Role, credits, wrs int) *bench {
	if role == engine.Requester {
		return newBoth(t, role, credits, 0, wrs)
	}
	return newBoth(t, role, 0, credits, wrs)
}

// newBoth returns a bench for one direction, or for both.
func newBoth(t *testing.T, role engine.Role, calls, serves, wrs int) *bench {
	return newBorrowing(t, role, calls, serves, wrs, calls+serves)
}

// newBorrowing returns a bench with own send buffers, which may borrow the others.
func newBorrowing(t *testing.T, role engine.Role, calls, serves, wrs, own int) *bench {
	b := &bench{t: t}
	b.cfg = engine.Config{
		Role: role, Versions: []protocol.Version{new(v1.Version)}, Calls: calls, Serves: serves, SendWRs: wrs, ChainTimeout: time.Second,
		Limits: chunk.Limits{Bytes: 1 << 20, Segments: 16, Chunks: 4, Transfer: 1 << 20},
	}
	credits := calls + serves
	for i := range credits {
		if i < own {
			b.cfg.Send = append(b.cfg.Send, engine.Buffer{Offset: i * sendSize, Bytes: make([]byte, sendSize)})
			b.mem = append(b.mem, b.cfg.Send[i].Bytes)
		}
		b.cfg.Recv = append(b.cfg.Recv, engine.Buffer{Bytes: make([]byte, 1024)})
	}
	b.cfg.MaxBorrowed = credits - own
	b.open = make([]bool, credits)
	b.e = engine.New(b.cfg)
	b.step(engine.Event{Kind: engine.EventStart})
	return b
}

// step runs events and does what the engine wants; assembly buffers are given at once.
func (b *bench) step(events ...engine.Event) {
	b.t.Helper()
	f := b.e.Step(b.now, events)
	b.recv += len(f.Recvs)
	for _, wr := range f.Recvs {
		if b.open[wr.WRID] {
			b.t.Errorf("Receive %d is posted twice", wr.WRID)
		}
		b.open[wr.WRID] = true
		fmt.Fprintf(&b.log, "recv %d\n", wr.WRID)
	}
	for _, wr := range f.Sends {
		total := 0
		for _, s := range wr.SGL {
			total += s.Length
		}
		fmt.Fprintf(&b.log, "%v %d bytes", wr.Opcode, total)
		if wr.Opcode == verbs.Send || wr.Opcode == verbs.SendWithInvalidate {
			text := bytes.Clone(b.inMemory(wr.SGL[0].Offset, total))
			b.sent = append(b.sent, text)
			b.flying = append(b.flying, inFlight{wr.WRID, wr.SGL[0].Offset, text})
		}
		if wr.InvalidateRKey != 0 {
			fmt.Fprintf(&b.log, " ends key %#x", wr.InvalidateRKey)
		}
		if wr.RKey != 0 {
			fmt.Fprintf(&b.log, " key %#x at %#x", wr.RKey, wr.RemoteAddr)
		}
		fmt.Fprintf(&b.log, " %v\n", wr.Flags)
		if wr.Flags&verbs.SendSignaled != 0 {
			b.ids = append(b.ids, wr.WRID)
		}
	}
	if f.Fail != nil {
		fmt.Fprintf(&b.log, "fail\n")
		b.fail = f.Fail
	}
	b.done = append(b.done, f.Done...)
	b.reqs = append(b.reqs, f.Deliver...)
	b.out = append(b.out, f.Release...)
	for _, r := range f.Release {
		fmt.Fprintf(&b.log, "release %#x: %v\n", r.XID, r.Err)
	}
	if f.WantBuffers > 0 {
		if b.wanted > 0 {
			b.t.Error("buffers are asked for twice")
		}
		b.wanted = f.WantBuffers
	}
	for _, buf := range f.Return {
		b.mem[buf.Offset/sendSize] = nil // whoever uses it now fails
		b.returned = append(b.returned, buf)
	}
	b.at, b.wait = f.Deadline, f.Await
	var next []engine.Event
	for _, r := range f.Assemble {
		r.Assembly = engine.Buffer{Bytes: bytes.Repeat([]byte{0xa5}, r.AssemblySize)}
		next = append(next, engine.Event{Kind: engine.EventAssembly, Request: r})
	}
	b.check()
	if len(next) > 0 {
		b.step(next...)
	}
}

// addBuffers brings n of the buffers that were asked for.
func (b *bench) addBuffers(n int) {
	b.t.Helper()
	var list []*engine.Buffer
	for range n {
		buf := &engine.Buffer{Offset: len(b.mem) * sendSize, Bytes: make([]byte, sendSize)}
		b.mem = append(b.mem, buf.Bytes)
		list = append(list, buf)
	}
	b.wanted = 0
	b.step(engine.Event{Kind: engine.EventBuffers, Control: &engine.Control{Buffers: list}})
}

// check tests the invariants between any two events.
func (b *bench) check() {
	b.t.Helper()
	for _, f := range b.flying {
		if b.fail == nil && !bytes.Equal(b.inMemory(f.at, len(f.text)), f.text) {
			b.t.Errorf("message %d has changed in flight", f.id)
		}
	}
	s := b.e.Stats()
	if s.SendQueueFilled > b.cfg.SendWRs {
		b.t.Errorf("%d entries of the send queue in use, it has %d", s.SendQueueFilled, b.cfg.SendWRs)
	}
	if s.PostedRecvs > len(b.cfg.Recv) {
		b.t.Errorf("%d Receives posted, there are %d", s.PostedRecvs, len(b.cfg.Recv))
	}
	ours, theirs := s.Flow, s.Reverse
	if b.cfg.Role == engine.Responder {
		ours, theirs = theirs, ours
	}
	// A Receive may wait for an assembly buffer.
	reading := b.cfg.Legacy && b.cfg.Role == engine.Requester
	if b.fail == nil && !reading && s.PostedRecvs+theirs.InFlight != len(b.cfg.Recv) {
		b.t.Errorf("%d Receives posted and %d Calls in work, of %d", s.PostedRecvs, theirs.InFlight, len(b.cfg.Recv))
	}
	// R270, R271, R283: whatever the peer's Calls take, every Reply due finds a Receive.
	if b.fail == nil && !reading && s.PostedRecvs < ours.InFlight {
		b.t.Errorf("%d Receives posted for %d Calls of our own", s.PostedRecvs, ours.InFlight)
	}
	if ours.InFlight > b.cfg.Calls || theirs.InFlight > b.cfg.Serves {
		b.t.Errorf("%d Calls in flight of %d, %d in work of %d", ours.InFlight, b.cfg.Calls, theirs.InFlight, b.cfg.Serves)
	}
}

// receive gives a message to Receive i.
func (b *bench) receive(i int, msg []byte) {
	b.t.Helper()
	b.ending(i, msg, 0)
}

// ending does so, for a message that invalidated a key.
func (b *bench) ending(i int, msg []byte, key uint32) {
	b.t.Helper()
	for k := range b.cfg.Recv[i].Bytes {
		b.cfg.Recv[i].Bytes[k] = 0x5a // T20: what an earlier message left
	}
	n := copy(b.cfg.Recv[i].Bytes, msg)
	b.recv--
	b.open[i] = false
	b.step(completion(verbs.WC{WRID: uint64(i), Opcode: verbs.WCRecv, ByteLen: uint32(n), InvalidatedRKey: key}))
}

// free is a Receive that is posted, or -1.
func (b *bench) free() int {
	for i, open := range b.open {
		if open {
			return i
		}
	}
	return -1
}

// complete completes the oldest signaled request.
func (b *bench) complete() {
	b.t.Helper()
	id := b.ids[0]
	b.ids = b.ids[1:]
	for len(b.flying) > 0 && b.flying[0].id <= id {
		b.flying = b.flying[1:]
	}
	b.step(completion(verbs.WC{WRID: id, Opcode: verbs.WCSend}))
}

// settle completes all signaled requests.
func (b *bench) settle() {
	b.t.Helper()
	for len(b.ids) > 0 && b.fail == nil {
		b.complete()
	}
}

func completion(wc verbs.WC) engine.Event {
	return engine.Event{Kind: engine.EventCompletion, WC: &wc}
}

// logged gives the log since the last time.
func (b *bench) logged() string {
	s := b.log.String()
	b.log.Reset()
	return s
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
