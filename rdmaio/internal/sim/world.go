package sim

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// tries is the number of times that an RPC is sent before its caller gives up.
const tries = 5

// patience is the time that a caller waits for a reply before it closes the connection.
const patience = 20 * chainTimeout

// world is the state of a simulation: the random choices of the run, and its parts.
//
//	clock ──> events ──> ends of the link: engine, port, memory ──> events
//	  │                    ▲                     │
//	trace            calls to be made       calls that ended ──> tally, verdict
type world struct {
	clock
	cfg      Config
	draw     draw
	versions versions
	faults   bool // faults may happen

	link    *link
	ends    []*end // of all connections
	keys    uint32
	calls   calls
	replies replies
	tally   tally
}

// tally counts for Result.
type tally struct {
	fired     [Faults]int
	outcomes  map[string]int
	links     int
	fromCache int // Calls answered from a cache
	parts     int // messages that were parts of continued ones
	cutParts  int // of these, Calls that were cancelled before the last
	cutOff    int // continued messages without a last part
}

// Run runs a simulation to its end.
func Run(cfg Config) Result {
	w := &world{
		clock: newClock(rand.New(rand.NewPCG(cfg.Seed, 7))), cfg: cfg, faults: true,
		replies: newReplies(), tally: tally{outcomes: make(map[string]int)},
	}
	w.draw = newDraw(w.rng)
	other := rand.New(rand.NewPCG(cfg.Seed, 11))
	w.versions = drawVersions(other)
	w.versions.apply(&w.draw, other)
	w.calls = newCalls(cfg.RPCs, w.draw.credits[1] > 0)
	w.connect()
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
	return Result{
		Trace: hex.EncodeToString(w.trace.Sum(nil)), Events: w.events, Failures: w.failures,
		Fired: w.tally.fired, Outcomes: w.tally.outcomes, Time: w.now, Links: w.tally.links, FromCache: w.tally.fromCache,
		Version: w.versions.number, FellBack: w.versions.fall, Mixed: w.versions.mixed,
		Ones:  w.versions.is2() && w.ends[0].account2.ceiling == 1 && w.ends[1].account2.ceiling == 1,
		Parts: w.tally.parts, CutParts: w.tally.cutParts, Broken: w.tally.cutOff,
	}
}

// connect makes a connection and sends the waiting RPCs over it.
func (w *world) connect() {
	w.newLink()
	w.ends = append(w.ends, w.link.ends[:]...)
	for from := range 2 {
		for _, p := range w.calls.resume(from) {
			w.after(w.soon(), names[from]+" calls again", func() { w.try(p) })
		}
	}
}

// newLinkIfNeeded connects if there are RPCs to be made or sent.
func (w *world) newLinkIfNeeded() {
	if w.calls.areLeft() {
		w.connect()
	}
}

// caller makes the next RPC of a caller, if there are more to be made.
func (w *world) caller(from int) {
	w.after(w.soon(), names[from]+" calls", func() {
		if w.calls.left[from] == 0 {
			return
		}
		p := w.newRPC(from)
		w.calls.add(p)
		w.try(p)
	})
}

// try sends an RPC over the current connection, or lets it wait for the next.
func (w *world) try(p *rpc) {
	if w.link.broken {
		w.calls.wait(p)
		if w.link.ends[0].gone && w.link.ends[1].gone {
			w.after(time.Millisecond, "reconnect", func() {
				if w.link.broken && w.link.ends[0].gone && w.link.ends[1].gone {
					w.newLinkIfNeeded()
				}
			})
		}
		return
	}
	e := w.link.ends[p.from]
	// A31: a server does not send first.
	if (w.versions.is2() || w.versions.fall) && p.from == 1 && !e.heard {
		w.calls.wait(p)
		return
	}
	p.issue(e)
	w.note("%s: RPC %d, try %d", e.name, p.tag, p.tries)
	try := p.tries
	e.step(engine.Event{Kind: engine.EventCall, Call: &p.call})
	if w.chance(Cancel) {
		w.after(time.Duration(w.rng.IntN(300))*time.Microsecond, e.name+" cancels", func() { w.cancel(p, try) })
	}
	w.after(patience, e.name+" has no patience", func() {
		if !p.posted || p.tries != try || p.end.gone {
			return
		}
		if !e.peer.dropped {
			w.fail("RPC %d has no answer after %v", p.tag, patience)
		}
		// The credit is lost with the dropped Call.
		p.end.step(engine.Event{Kind: engine.EventClose, Err: errClosed})
	})
}

// cancel cancels a try that is in progress.
func (w *world) cancel(p *rpc, try int) {
	if p.posted && p.tries == try {
		p.cancelled = true
		if s := p.end.account2.out; s.open && s.kind == isCall && s.xid == p.xid {
			w.tally.cutParts++
		}
		p.end.step(engine.Event{Kind: engine.EventCancel, XID: p.xid, Call: &p.call})
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
	p.sent = p.sent || c.Sent
	copy(p.lent, poisoned(len(p.lent))) // a later use is found
	p.lent = nil
	if b := c.ReplyTo[:cap(c.ReplyTo)]; c.Reply == nil && len(b) > 0 {
		copy(b, poisoned(len(b)))
		w.calls.returned = append(w.calls.returned, b)
	}
	for _, r := range p.regions {
		if !r.live && c.Reply != nil && r.key != c.InvalidatedKey {
			w.fail("RPC %d: key %#x was invalidated by the peer, and the Call does not report it", p.tag, r.key)
		}
		r.live, r.cancelled = false, p.cancelled && c.Sent
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
	case p.cancelled:
		w.finish(p, "cancelled")
	case errors.As(c.Err, &peer):
		if !p.narrow && !(peer.Body.Code == header.ErrSystem && e.peer.mem.skips > 0) {
			w.fail("RPC %d: %v", p.tag, c.Err)
		}
		w.finish(p, "refused")
	case errors.As(c.Err, &fault) && fault.Code == header.FaultLong && e.mem.skips > 0:
		w.finish(p, "no memory for the reply")
	case errors.As(c.Err, &size) && w.draw.rate[Resize] > 0 && !c.Sent:
		w.after(0, "does not fit any more", func() { w.try(p) })
	case errors.Is(c.Err, errMemory):
		w.finish(p, "no memory for the reply")
	case errors.Is(c.Err, errBroken), errors.Is(c.Err, errClosed), errors.Is(c.Err, engine.ErrTimeout), errors.Is(c.Err, engine.ErrNoDone), errors.Is(c.Err, engine.ErrNoAnswer):
		if p.tries == tries {
			w.finish(p, "lost")
			return
		}
		w.after(0, "lost", func() { w.try(p) })
	default:
		w.fail("RPC %d: %v", p.tag, c.Err)
		w.finish(p, "failed")
	}
}

// finish notes the outcome of an RPC. Its caller makes the next one.
func (w *world) finish(p *rpc, how string) {
	p.outcome = how
	w.tally.outcomes[how]++
	w.note("RPC %d: %s", p.tag, how)
	w.caller(p.from)
}

// verdict checks the final state, when there are no more events.
func (w *world) verdict() {
	w.calls.verdict(w.draw.cache, w.fail)
	for _, e := range w.ends {
		if n := len(e.requests); n > 0 {
			w.fail("%s has not released %d Requests", e.name, n)
		}
		e.mem.verdict()
		if e.account2.out.open {
			if w.tally.cutOff++; !e.gone {
				w.fail("%s has not sent all parts of %#x", e.name, e.account2.out.xid)
			}
		}
		if s := e.eng.Stats(); !e.gone && (s.SendQueueFilled != 0 || s.Waiting != 0 || s.DoneMessagesDue != 0 || len(e.port.rq) != s.PostedRecvs) {
			w.fail("%s: %+v with nothing to do, %d Receives posted", e.name, s, len(e.port.rq))
		}
		if e.eng.Step(w.now, nil); !e.gone {
			e.mem.loansReturned()
		}
	}
}
