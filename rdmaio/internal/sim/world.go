package sim

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// tries is the number of times that an RPC is sent before its caller gives up.
const tries = 5

// patience is the time after which a caller gives up, and answerTime the longest time in which it
// must have an answer on a connection that is up.
const (
	patience   = answerTime + 2*peerTimeout
	answerTime = peerTimeout + 10*chainTimeout
)

// world is the state of a simulation: the random choices of the run, and its parts.
//
//	clock ──> events ──> ends of links: engine, port, memory ──> events
//	  │                    ▲     │
//	trace                  │     └──> services: reply cache, procedures
//	                       │
//	           redial: a connection for each RPC
//	                       ▲
//	             calls to be made ──> calls that ended ──> log, tally, verdict
type world struct {
	clock
	cfg      Config
	draw     draw
	versions versions
	faults   bool // faults may happen

	links    []*link // all connections that were made
	ends     []*end  // of all of them
	redial   *redial
	services [2]service
	limit    *limit // of the server's memory, or nil
	door     *door
	turns    *turns // nil: no limit of handlers
	keys     uint32
	calls    calls
	log      log
	tally    tally
}

// tally counts for Result.
type tally struct {
	fired    [Faults]int
	outcomes map[string]int
	links    int
	most     int // connections at a time
	again    int // Calls that a cache has held back
	probes   int // connections that a cache has probed
	others   int // messages of the extension
	parts    int // messages that were parts of continued ones
	cutParts int // of these, Calls that were cancelled before the last
	cutOff   int // continued messages without a last part

	served
}

// Run runs a simulation to its end, in a bubble of package synctest.
func Run(t *testing.T, cfg Config) (r Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = run(cfg) })
	return r
}

func run(cfg Config) Result {
	w := &world{
		clock: newClock(rand.New(rand.NewPCG(cfg.Seed, 7))), cfg: cfg, faults: true,
		tally: tally{outcomes: make(map[string]int)},
	}
	w.draw = newDraw(w.rng)
	other := rand.New(rand.NewPCG(cfg.Seed, 11))
	w.versions = drawVersions(other)
	w.versions.apply(&w.draw, other)
	if cfg.Swarm != nil {
		cfg.Swarm(&w.draw)
	}
	w.calls = newCalls(cfg.RPCs, w.draw.credits[1] > 0)
	w.log, w.services, w.limit, w.door, w.turns, w.redial = newLog(w), w.newServices(), newLimit(w), newDoor(w), newTurns(w), newRedial(w)
	for from := range 2 {
		for range min(w.calls.left[from], 2*w.draw.credits[from]) { // more callers than credits
			w.caller(from)
		}
	}
	for w.next() {
		if w.faults && w.calls.left == [2]int{} {
			w.faults = false // from now on all RPCs must end
			w.note("no more faults")
		}
		if w.events > 100_000+2000*cfg.RPCs { // fifty times the events of a normal run
			w.fail("the simulation does not end")
			break
		}
		if len(w.failures) >= 10 {
			break
		}
	}
	w.verdict()
	w.turns.stop()
	return w.result()
}

// result returns what the run has seen.
func (w *world) result() Result {
	v, t := &w.versions, &w.tally
	r := Result{
		Trace: hex.EncodeToString(w.trace.Sum(nil)), Events: w.events, Failures: w.failures,
		Fired: t.fired, Outcomes: t.outcomes, Time: w.now, Links: t.links, Most: t.most,
		FromCache: w.fromCache(), Again: t.again, Probes: t.probes, Others: t.others, Client: w.redial.machine.Stats(),
		Version: v.number, FellBack: v.fall, Mixed: v.mixed,
		Parts: t.parts, CutParts: t.cutParts, Broken: t.cutOff, Server: t.served, Stranger: w.draw.stranger > 0,
	}
	if w.limit != nil {
		r.Waited, r.Held = w.limit.waited, w.limit.most
	}
	if len(w.ends) > 0 {
		r.Ones = v.is2() && w.ends[0].account2.ceiling == 1 && w.ends[1].account2.ceiling == 1
	}
	return r
}

// late returns the time by which a timer is late.
func (w *world) late() time.Duration {
	if !w.chance(LateTimer) {
		return 0
	}
	return time.Duration(w.rng.Int64N(int64(chainTimeout)))
}

// caller makes the next RPC of a caller, if there are more to be made.
func (w *world) caller(from int) {
	w.after(w.soon(), names[from]+" calls", func() {
		if w.calls.left[from] == 0 {
			return
		}
		p := w.newRPC(from)
		p.again = machine.Tries{Losses: tries - 1}
		w.calls.add(p)
		w.log.Called(p.tag, names[from])
		w.try(p)
		if w.chance(Cancel) {
			w.after(time.Duration(w.rng.IntN(300))*time.Microsecond, names[from]+" cancels", func() { w.giveUp(p, "cancelled") })
		}
		w.after(patience, names[from]+" has no patience", func() { w.giveUp(p, "timed out") })
	})
}

// try lets an RPC go on with a connection, or wait for one.
func (w *world) try(p *rpc) {
	if p.givenUp != "" {
		w.finish(p, p.givenUp)
		return
	}
	if p.from == 0 {
		w.redial.acquire(p)
		return
	}
	if e := w.callback(); e != nil {
		w.start(p, e)
		return
	}
	w.calls.wait(p)
}

// callback returns the server's end of the latest connection on which the server may call, or nil.
func (w *world) callback() *end {
	for i := len(w.links) - 1; i >= 0; i-- {
		e := w.links[i].ends[1]
		// A31: a server does not send first.
		if !e.gone && (e.heard || !w.versions.is2() && !w.versions.fall) {
			return e
		}
	}
	return nil
}

// resume lets the RPCs of a side that wait for a connection go on.
func (w *world) resume(from int) {
	for _, p := range w.calls.resume(from) {
		w.after(w.soon(), names[from]+" calls again", func() {
			if p.outcome == "" {
				w.try(p)
			}
		})
	}
}

// start sends an RPC over a connection.
func (w *world) start(p *rpc, e *end) {
	if p.givenUp != "" {
		w.release(p, e)
		w.finish(p, p.givenUp)
		return
	}
	if err := p.issue(e); err != nil {
		p.withdraw()
		w.release(p, e)
		w.finish(p, "no memory for the Call")
		return
	}
	w.note("%s: RPC %d, try %d", e.name, p.tag, p.tries)
	w.log.tried(p, e)
	e.step(engine.Event{Kind: engine.EventCall, Call: &p.call})
}

// release takes back the connection of an RPC.
func (w *world) release(p *rpc, e *end) {
	if p.from == 0 {
		w.redial.release(e)
	}
}

// giveUp makes the caller of an RPC give up.
func (w *world) giveUp(p *rpc, how string) {
	if p.outcome != "" || p.givenUp != "" {
		return
	}
	p.givenUp = how
	switch e := p.end; {
	case p.posted:
		if after := w.now - p.since; after > answerTime && !e.link.broken && !e.peer.dropped && !e.link.noDone {
			w.fail("RPC %d has no answer after %v", p.tag, after)
		}
		if s := e.account2.out; s.open && s.kind == isCall && s.xid == p.xid {
			w.tally.cutParts++
		}
		e.step(engine.Event{Kind: engine.EventCancel, XID: p.xid, Call: &p.call})
	case p.waits != nil:
		w.redial.cancel(p)
	case p.from == 1 && w.calls.leave(p):
		w.finish(p, how)
	}
}

// done takes back a Call that the engine is done with. That try is over.
func (w *world) done(e *end, p *rpc) {
	c := &p.call
	if !p.posted || p.end != e {
		w.fail("RPC %d ends twice", p.tag)
		return
	}
	p.posted = false
	// A failure to connect that comes later may begin a pause in which the RPC fails.
	p.failures = w.redial.machine.Stats().DialFailures
	p.sent = p.sent || c.Sent
	if p.givenUp != "" && c.Sent {
		e.given.add(p.xid)
	}
	w.release(p, e)
	copy(p.lent, poisoned(len(p.lent))) // a later use is found
	p.lent = nil
	if b := c.ReplyTo[:cap(c.ReplyTo)]; c.Reply == nil && len(b) > 0 {
		copy(b, poisoned(len(b)))
		w.calls.returned = append(w.calls.returned, b)
	}
	live := p.demand != nil && p.demand.MemoryRegion.(*object).r.live
	for _, r := range p.regions {
		if !r.live && c.Reply != nil && r.key != c.InvalidatedKey {
			w.fail("RPC %d: key %#x was invalidated by the peer, and the Call does not report it", p.tag, r.key)
		}
		r.live, r.cancelled = false, p.givenUp != "" && c.Sent
	}
	if p.demand != nil {
		p.demand.MemoryRegion.(*object).r.live = live
		p.collect(c.LongReply)
	}
	var peer *engine.PeerError
	var size *engine.SizeError
	var fault *header.Fault
	switch {
	case w.versions.number == 0 && (errors.Is(c.Err, engine.ErrNoVersion) || errors.As(c.Err, &peer) && peer.Body.Code == header.ErrVers):
		w.finish(p, "no version")
	case c.Err == nil && (c.Reply != nil || c.LongReply > 0):
		p.check(w)
		if p.byReadChunks {
			w.finish(p, "ok by read chunks")
			return
		}
		w.finish(p, "ok")
	case p.givenUp != "":
		w.finish(p, p.givenUp)
	case errors.As(c.Err, &peer):
		if !p.narrow && !(peer.Body.Code == header.ErrSystem && e.peer.mem.skips > 0) {
			w.fail("RPC %d: %v", p.tag, c.Err)
		}
		w.refused(p, e)
	case errors.As(c.Err, &fault) && fault.Code == header.FaultLong && e.mem.skips > 0:
		w.finish(p, "no memory for the reply")
	case errors.As(c.Err, &size) && w.draw.rate[Resize] > 0 && !c.Sent:
		w.after(0, "does not fit any more", func() { w.try(p) })
	case errors.Is(c.Err, errMemory):
		w.finish(p, "no memory for the reply")
	case errors.Is(c.Err, errBroken), errors.Is(c.Err, errClosed), errors.Is(c.Err, engine.ErrTimeout), errors.Is(c.Err, engine.ErrNoDone), errors.Is(c.Err, engine.ErrNoAnswer):
		if !p.again.Failed(machine.TryFailure{MayHaveRun: c.Sent, Up: e.err == nil}) {
			w.finish(p, "lost")
			return
		}
		w.after(0, "lost", func() { w.try(p) })
	default:
		w.fail("RPC %d: %v", p.tag, c.Err)
		w.finish(p, "failed")
	}
}

// refused takes the answer that refuses an RPC. Another connection would change nothing.
func (w *world) refused(p *rpc, e *end) {
	if p.refusals++; p.refusals > 1 {
		w.fail("RPC %d was refused %d times", p.tag, p.refusals)
	}
	if !p.again.Failed(machine.TryFailure{MayHaveRun: true, Up: !w.cfg.Bugs.Stubborn, Lasting: !w.cfg.Bugs.Stubborn}) {
		w.finish(p, "refused")
		return
	}
	w.after(0, e.name+" is given up for one Call", func() {
		e.close(errClosed)
		w.try(p)
	})
}

// finish notes the outcome of an RPC. Its caller makes the next one.
func (w *world) finish(p *rpc, how string) {
	if p.outcome != "" {
		w.fail("RPC %d ends as %q and as %q", p.tag, p.outcome, how)
		return
	}
	p.outcome = how
	w.calls.ended++
	w.tally.outcomes[how]++
	w.log.returned(p)
	w.note("RPC %d: %s", p.tag, how)
	w.caller(p.from)
	if w.calls.areOver() {
		w.after(quiet, "all RPCs are over", w.close)
	}
}

// quiet is the time after the last RPC in which all that it has left behind must end.
const quiet = peerTimeout + doneTimeout

// close checks the connections that are up, on which nothing happens any more, and closes them.
func (w *world) close() {
	for _, e := range w.ends {
		if e.gone || e.link.broken {
			continue
		}
		if s := e.eng.Stats(); s.SendQueueFilled != 0 || s.Waiting != 0 || s.DoneMessagesDue != 0 || len(e.port.rq) != s.PostedRecvs {
			w.fail("%s: %+v with nothing to do, %d Receives posted", e.name, s, len(e.port.rq))
		}
		e.given.verdict()
		if e.ext.asked != 0 {
			w.fail("%s has no answer to message %d of the extension", e.name, e.ext.sent)
		}
		if e.account2.out.open {
			w.fail("%s has not sent all parts of %#x", e.name, e.account2.out.xid)
		}
		if e.eng.Step(w.now, nil); !e.gone {
			e.mem.loansReturned()
		}
	}
	w.redial.close()
}

// verdict checks the final state, when there are no more events.
func (w *world) verdict() {
	w.calls.verdict(w.fail)
	for _, f := range w.log.Check(history.Promise{Once: w.draw.cache}) {
		w.fail("%v", f)
	}
	for _, e := range w.ends {
		if !e.gone {
			w.fail("%s is up when the client has closed", e.name)
		}
		if n := len(e.requests); n > 0 {
			w.fail("%s has not released %d Requests", e.name, n)
		}
		if e.account2.out.open {
			w.tally.cutOff++
		}
		if e.domain != nil {
			e.domain.verdict()
		}
		e.mem.verdict()
	}
	if w.limit != nil {
		w.limit.verdict()
	}
}
