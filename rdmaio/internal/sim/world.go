package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// tries is the number of times that an RPC is sent before its caller gives up.
const tries = 5

// patience is the time that a caller waits for a reply before it closes the connection.
const patience = 20 * chainTimeout

// world is the state of a simulation.
type world struct {
	cfg      Config
	draw     draw
	versions versions
	rng      *rand.Rand
	now      time.Duration
	queue    queue
	seq      int
	trace    hash.Hash
	events   int

	faults   bool // faults may happen
	fired    [Faults]int
	failures []string

	link      *link
	links     int
	ends      []*end // of all connections
	keys      uint32
	tags      uint64
	fromCache int       // Calls answered from a cache
	parts     int       // messages that were parts of continued ones
	cutParts  int       // of these, Calls that were cancelled before the last
	cutOff    int       // continued messages without a last part
	xids      [2]uint32 // the same numbers in both directions (R268)

	left     [2]int             // RPCs to be made
	rpcs     map[uint64]*rpc    // by tag
	byXID    [2]map[uint32]*rpc // by side that made them, and XID
	waiting  [2][]*rpc          // RPCs that wait for a connection
	executed map[uint64]int
	returned [][]byte // memory for replies that did not come
	cache    map[callKey]*cached
	seed     maphash.Seed
	outcomes map[string]int
}

// Run runs a simulation to its end.
func Run(cfg Config) Result {
	w := &world{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 7)), trace: sha256.New(), faults: true,
		rpcs: make(map[uint64]*rpc), byXID: [2]map[uint32]*rpc{{}, {}}, executed: make(map[uint64]int), cache: make(map[callKey]*cached), seed: maphash.MakeSeed(), outcomes: make(map[string]int),
	}
	w.draw = newDraw(w.rng)
	other := rand.New(rand.NewPCG(cfg.Seed, 11))
	w.versions = drawVersions(other)
	w.versions.apply(&w.draw, other)
	w.left[0] = cfg.RPCs
	if w.draw.credits[1] > 0 {
		w.left[1] = cfg.RPCs / 3
	}
	w.connect()
	for from := range 2 {
		for range min(w.left[from], 2*w.draw.credits[from]) { // more callers than credits
			w.caller(from)
		}
	}
	for w.next() {
		if w.faults && w.left == [2]int{} {
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
		Fired: w.fired, Outcomes: w.outcomes, Time: w.now, Links: w.links, FromCache: w.fromCache,
		Version: w.versions.number, FellBack: w.versions.fall, Mixed: w.versions.mixed,
		Ones:  w.versions.is2() && w.ends[0].account2.ceiling == 1 && w.ends[1].account2.ceiling == 1,
		Parts: w.parts, CutParts: w.cutParts, Broken: w.cutOff,
	}
}

// connect makes a connection and sends the waiting RPCs over it.
func (w *world) connect() {
	w.newLink()
	w.ends = append(w.ends, w.link.ends[:]...)
	for from, list := range w.waiting {
		w.waiting[from] = nil
		for _, p := range list {
			w.after(w.soon(), names[from]+" calls again", func() { w.try(p) })
		}
	}
}

// newLinkIfNeeded connects if there are RPCs to be made or sent.
func (w *world) newLinkIfNeeded() {
	if len(w.waiting[0])+len(w.waiting[1])+w.left[0]+w.left[1] > 0 {
		w.connect()
	}
}

// caller makes the next RPC of a caller, if there are more to be made.
func (w *world) caller(from int) {
	w.after(w.soon(), names[from]+" calls", func() {
		if w.left[from] == 0 {
			return
		}
		w.left[from]--
		p := w.newRPC(from)
		w.rpcs[p.tag], w.byXID[from][p.xid] = p, p
		w.try(p)
	})
}

// try sends an RPC over the current connection, or lets it wait for the next.
func (w *world) try(p *rpc) {
	if w.link.broken {
		w.waiting[p.from] = append(w.waiting[p.from], p)
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
		w.waiting[1] = append(w.waiting[1], p)
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
			w.cutParts++
		}
		p.end.step(engine.Event{Kind: engine.EventCancel, XID: p.xid, Call: &p.call})
	}
}

// done ends a try, with the Call that the engine ended.
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
		w.returned = append(w.returned, b)
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
		if !p.narrow && !(peer.Body.Code == header.ErrSystem && e.peer.skips > 0) {
			w.fail("RPC %d: %v", p.tag, c.Err)
		}
		w.finish(p, "refused")
	case errors.As(c.Err, &fault) && fault.Code == header.FaultLong && e.skips > 0:
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

// finish ends an RPC. Its caller makes the next one.
func (w *world) finish(p *rpc, how string) {
	p.outcome = how
	w.outcomes[how]++
	w.note("RPC %d: %s", p.tag, how)
	w.caller(p.from)
}

// verdict checks the final state, when there are no more events.
func (w *world) verdict() {
	for tag := uint64(1); tag <= w.tags; tag++ {
		p, n := w.rpcs[tag], w.executed[tag]
		switch {
		case p.outcome == "":
			w.fail("RPC %d never ended", tag)
		case n > 0 && !p.sent:
			w.fail("RPC %d: its error says that it was not sent, but it was executed", tag)
		case w.draw.cache && n > 1, n > p.tries:
			w.fail("RPC %d was executed %d times in %d tries", tag, n, p.tries)
		case strings.HasPrefix(p.outcome, "ok") && n == 0:
			w.fail("RPC %d was answered but not executed", tag)
		}
	}
	for _, b := range w.returned {
		if !bytes.Equal(b, poisoned(len(b))) {
			w.fail("memory for a reply of %d bytes was written when its Call had ended", len(b))
		}
	}
	for _, e := range w.ends {
		if n := len(e.requests); n > 0 {
			w.fail("%s has not released %d Requests", e.name, n)
		}
		if n := len(e.given); n > 0 {
			w.fail("%s has not released the memory of %d replies", e.name, n)
		}
		if e.borrowed != 0 {
			w.fail("%s has not returned %d send buffers", e.name, e.borrowed)
		}
		for _, r := range e.regions {
			if r.live {
				w.fail("%s: key %#x is live at the end", e.name, r.key)
			}
		}
		if e.reserved != 0 {
			w.fail("%s has not given back %d bytes of continued messages", e.name, e.reserved)
		}
		if e.account2.out.open {
			if w.cutOff++; !e.gone {
				w.fail("%s has not sent all parts of %#x", e.name, e.account2.out.xid)
			}
		}
		if s := e.eng.Stats(); !e.gone && (s.SendQueueFilled != 0 || s.Waiting != 0 || s.DoneMessagesDue != 0 || len(e.rq) != s.PostedRecvs) {
			w.fail("%s: %+v with nothing to do, %d Receives posted", e.name, s, len(e.rq))
		}
		if e.eng.Step(w.now, nil); !e.gone && e.loans != 0 {
			w.fail("%s has not returned %d loans", e.name, e.loans)
		}
	}
}
