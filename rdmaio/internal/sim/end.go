package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// chainTimeout is the engine.Config.ChainTimeout of both ends.
const chainTimeout = time.Second

// end is one end of a connection: an engine, with the state of its provider and driver.
type end struct {
	w    *world
	i    int // 0: it dialed
	name string
	link *link
	peer *end

	eng      core
	port     port
	mem      memory
	timer    time.Duration
	gone     bool  // it is disconnected, and accesses no memory
	err      error // why
	dialled  bool  // the client may use it
	calls    int   // that this side makes at a time at most
	credits  int   // after the last step
	conn     conn
	ext      extension
	given    given
	domain   *domain // nil: the device has no memory on demand
	heard    bool    // a message was received
	account  account
	account2 account2

	admitted map[*engine.Request]*admitted
	requests map[*engine.Request]bool // not released; true: a handler has it
	used     time.Duration            // the last step
	blame
}

// blame counts the faults of the peer, and has the end's own.
type blame struct {
	faults  uint64 // found by the engine
	refused uint64 // the same, when Calls over a limit were looked for
	dropped bool   // a Call was dropped, so the peer has lost a credit
}

var names = [2]string{"client", "server"}

// newLink makes a connection and its ends.
func (w *world) newLink() *link {
	w.tally.links++
	l := &link{w: w, number: w.tally.links, carried: make(map[uint64]bool)}
	w.links = append(w.links, l)
	w.tally.most = max(w.tally.most, w.linksUp())
	for i := range 2 {
		l.ends[i] = w.newEnd(l, i)
	}
	l.ends[0].peer, l.ends[1].peer = l.ends[1], l.ends[0]
	w.ends = append(w.ends, l.ends[:]...)
	l.inline = w.draw.inline
	said := [2][]byte{w.private(0), w.private(1)}
	for i, e := range l.ends {
		e.step(engine.Event{Kind: engine.EventStart}, engine.Event{Kind: engine.EventTerms, Control: &engine.Control{Terms: w.agree(i, said[1-i])}})
	}
	if w.versions.mixed {
		l.ends[0].step(engine.Event{Kind: engine.EventOpen})
	}
	w.resume(1)
	return l
}

// linksUp returns the number of connections that are up at the client.
func (w *world) linksUp() (n int) {
	for _, l := range w.links {
		if l.ends[0] == nil || !l.ends[0].gone {
			n++
		}
	}
	return n
}

// newEnd makes the end of side i.
func (w *world) newEnd(l *link, i int) *end {
	d := &w.draw
	calls, serves := d.credits[i], d.limits[i]
	if i == 0 && d.credits[1] == 0 {
		serves = 0
	}
	e := &end{
		w: w, i: i, link: l, name: fmt.Sprintf("%s %d", names[i], l.number), calls: calls, mem: newMemory(w, names[i]), requests: make(map[*engine.Request]bool), admitted: make(map[*engine.Request]*admitted),
		account: account{
			w: w, name: names[i], asks: calls, grants: serves, granted: 1, calls: make(map[uint32]bool), unanswered: make(map[uint32]bool),
			reading: make(map[uint32]bool), due: make(map[uint32]bool),
		},
	}
	e.ext, e.given = extension{e: e}, given{e: e, told: make(map[uint32]bool), got: make(map[uint32]bool)}
	if d.onDemand[i] {
		e.domain = newDomain(&e.mem)
	}
	e.conn = conn{e: e, done: make(chan struct{})}
	cfg := engine.Config{
		Role: engine.Role(i), Versions: []protocol.Version{new(v1.Version)}, Calls: calls, Serves: serves, ReverseChunks: d.reverseChunks,
		SendWRs: d.sendWRs[i], ChainTimeout: chainTimeout, Legacy: d.follows[i], DoneTimeout: doneTimeout,
		Limits: chunk.Limits{Bytes: 1 << 20, Segments: mostSegments, Chunks: 4, Transfer: 1 << 20},
	}
	if w.cfg.Bugs.OneLess {
		cfg.Limits.Segments--
	}
	recvs, size := calls+serves, d.own[i].Recv
	e.account2 = account2{w: w, e: e, ceiling: calls + serves, credits: 1 - i, granted: i, calls: make(map[uint32]bool), unanswered: make(map[uint32]bool)}
	if e.isStranger() {
		e.eng = newStranger(e, calls+serves)
		return e
	}
	if w.versions.mixed {
		e.configure(&cfg)
		recvs, size = recvs+2, max(size, int(w.versions.own[i].ReceiveSize))
	}
	cfg.Send = []engine.Buffer{*e.buffer()}
	cfg.MaxBorrowed = calls + serves - 1
	if d.follows[1] && i == 1 {
		recvs += serves // for RDMA_DONE
	}
	if d.lends[i] {
		cfg.Receives, cfg.ReceiveMost, recvs = recvs, size, 0
	}
	for range recvs {
		r := &region{bytes: poisoned(size)}
		cfg.Recv = append(cfg.Recv, engine.Buffer{MR: r, Bytes: r.bytes})
		e.port.recv = append(e.port.recv, r)
	}
	e.eng = engine.New(cfg)
	return e
}

// step runs the engine and carries out its effects. Effects that lead to another step are
// scheduled.
func (e *end) step(events ...engine.Event) {
	f := e.eng.Step(e.w.now, events)
	e.used = e.w.now
	e.w.note("%s: %d recvs, %d sends, fail %v, %d assemble, %d deliver, %d done, %d release",
		e.name, len(f.Recvs), len(f.Sends), f.Fail, len(f.Assemble), len(f.Deliver), len(f.Done), len(f.Release))
	if e.gone && (len(f.Recvs) > 0 || len(f.Sends) > 0 || f.Fail != nil) {
		e.w.fail("%v posts to a connection that it ended", e.name)
	}
	e.port.rq = append(e.port.rq, f.Recvs...)
	if e.port.await = f.Await; e.port.await && len(e.port.unpolled) > 0 {
		e.w.after(e.w.soon(), e.name+" polls", e.poll)
	}
	for i := range f.Sends {
		e.w.note("%s: %v %d bytes key %#x", e.name, f.Sends[i].Opcode, f.Sends[i].SGL[0].Length, f.Sends[i].RKey)
	}
	e.post(f.Sends)
	if f.Fail != nil {
		e.end(f.Fail)
	}
	for _, b := range f.Return {
		copy(b.Bytes, poisoned(len(b.Bytes))) // a later use is found
		e.mem.borrowed--
	}
	if n := f.WantBuffers; n > 0 {
		e.w.after(e.w.soon(), e.name+" gets send buffers", func() { e.growSendBuffers(n) })
	}
	for i := range f.Others {
		e.ext.receive(&f.Others[i])
	}
	if n := f.Resized; n > 0 {
		e.w.after(0, e.name+" has larger Receives", func() { e.ext.resized(n) })
	}
	for _, q := range f.Assemble {
		e.requests[q] = false
		e.w.after(e.w.soon(), e.name+" gets memory", func() { e.giveAssembly(q) })
	}
	for _, q := range f.Deliver {
		e.requests[q] = true
		e.serve(q)
	}
	for _, c := range f.Done {
		if p, ok := c.Owner.(*rpc); ok {
			e.w.done(e, p)
		} else {
			e.given.answered(c)
		}
	}
	for _, q := range f.Release {
		delete(e.requests, q) // a Call that was refused at once is not in the map
		e.mem.released(q)
		e.released(q)
	}
	s := e.eng.Stats()
	busy := s.InFlight // Calls of the peer that are not answered
	if e.i == 0 {
		busy = s.Reverse.InFlight
	}
	if e.w.versions.mixed {
		busy -= s.Waiting // ERRORs may wait for a credit
	}
	if !e.gone && busy > len(e.requests)+int(e.overs()) { // their ERRORs may wait, too
		e.w.fail("%s: %d Calls are busy, and there are %d Requests", e.name, busy, len(e.requests))
	}
	if s.FaultyMessages > e.refused && e.overs() > 0 {
		if e.refused = s.FaultyMessages; e.w.cfg.Bugs.CloseOver {
			e.w.after(0, e.name+" refuses its peer", func() { e.close(errOver) })
		}
	}
	if s.FaultyMessages+s.CallsOverCredit > e.faults+e.tolerated() {
		e.faults = s.FaultyMessages + s.CallsOverCredit
		e.w.fail("%v reports a fault of a peer that made none: %+v", e.name, s)
	}
	if e.i == 0 && !e.dialled && !e.gone && f.Version != nil {
		e.w.redial.dialled(e)
	}
	if n := e.eng.Credits(); e.i == 0 && n > e.credits {
		e.w.redial.room()
	}
	e.credits = e.eng.Credits()
	if f.Deadline > 0 && (e.timer <= e.w.now || f.Deadline < e.timer) {
		e.timer = f.Deadline
		e.w.after(f.Deadline-e.w.now+e.w.late(), e.name+" timer", func() {
			if !e.gone {
				e.step(append(e.port.look(), engine.Event{Kind: engine.EventTimer})...)
			}
		})
	}
}

// tolerated returns the number of faults that the engine may report although the peer made none: a
// version that it does not have, and messages for which there was no memory.
func (e *end) tolerated() uint64 {
	switch v := &e.w.versions; {
	case v.number == 0:
		return 1 << 32
	case v.fall && e.i == 1:
		return 1 + e.overs()
	}
	return uint64(e.mem.skips) + e.overs()
}

// end disconnects.
func (e *end) end(why error) {
	e.gone, e.err = true, why
	close(e.conn.done)
	e.port.close()
	e.w.note("%s ends: %v", e.name, why)
	l := e.link
	if errors.Is(why, engine.ErrInternal) {
		e.w.fail("%s: %v", e.name, why)
	}
	if !e.expects(why) {
		e.w.fail("%s closes for one Call: %v", e.name, why)
	}
	if errors.Is(why, engine.ErrNoDone) && !l.noDone && !l.broken {
		e.w.fail("%s: %v, but it was sent", e.name, why)
	}
	if !l.broken {
		l.broken = true
		p := e.peer
		e.w.after(e.w.soon(), p.name+" is notified", func() {
			if !p.gone {
				p.step(engine.Event{Kind: engine.EventBroken, Err: errBroken})
			}
		})
	}
	e.w.log.lost(e)
	e.w.door.leave(e)
	e.w.turns.leave(e)
	if e.i == 0 {
		e.w.redial.ended(e)
	}
}

// expects reports whether a connection may end for a reason, which is a fault of the network, a
// choice of an end, or a version that the peer does not have. No Call is such a reason.
func (e *end) expects(why error) bool {
	for _, r := range []error{errBroken, errClosed, engine.ErrTimeout, engine.ErrNoDone, engine.ErrNoVersion, engine.ErrNoAnswer} {
		if errors.Is(why, r) {
			return true
		}
	}
	return false
}

// close closes the connection, unless it is down.
func (e *end) close(why error) {
	if !e.gone {
		e.step(engine.Event{Kind: engine.EventClose, Err: why})
	}
}

// overs returns the number of Calls over a limit that the peer may have sent.
func (e *end) overs() (n uint64) {
	for tag := range e.link.carried {
		if p := e.w.calls.rpcs[tag]; p.over && p.from != e.i {
			n++
		}
	}
	return n
}

// buffer makes a send buffer.
func (e *end) buffer() *engine.Buffer {
	r := &region{bytes: poisoned(e.w.draw.inline[e.i])}
	return &engine.Buffer{MR: r, Bytes: r.bytes}
}

// growSendBuffers gives the engine at most n send buffers, as memory allows.
func (e *end) growSendBuffers(n int) {
	var list []*engine.Buffer
	for ; n > 0 && !e.w.chance(NoMemory); n-- {
		list = append(list, e.buffer())
	}
	e.mem.borrowed += len(list)
	e.step(engine.Event{Kind: engine.EventBuffers, Control: &engine.Control{Buffers: list}})
}

// giveAssembly gives a Request its assembly buffer.
func (e *end) giveAssembly(q *engine.Request) {
	ev := engine.Event{Kind: engine.EventAssembly, Request: q}
	if e.w.chance(NoMemory) {
		ev.Err = errMemory
		// A client of the draft may be asking for a Reply, whose Call ends with this error.
		if e.i == 1 || !e.w.draw.legacy {
			e.w.calls.byXID[1-e.i][q.XID].narrow = true // it ends like an RPC that does not fit
		}
	} else {
		n := q.AssemblySize
		if left := n - q.AssemblyFilled; left > 1 && e.w.rng.IntN(2) == 0 {
			n -= e.w.rng.IntN(left) // a driver may give a shorter buffer first
		}
		r := &region{bytes: poisoned(n)}
		copy(r.bytes, q.Assembly.Bytes[:q.AssemblyFilled])
		copy(q.Assembly.Bytes, poisoned(q.AssemblyFilled)) // a later use is found
		q.Assembly = engine.Buffer{MR: r, Bytes: r.bytes}
	}
	e.step(ev)
}
