package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// tries is how often an RPC is sent before its caller gives up.
const tries = 5

// patience is how long a caller waits for an answer before it gives up the connection.
const patience = 20 * chainTimeout

// world is a simulation.
type world struct {
	cfg    Config
	draw   draw
	rng    *rand.Rand
	now    time.Duration
	queue  queue
	seq    int
	trace  hash.Hash
	events int

	faults   bool // they may happen
	fired    [Faults]int
	failures []string

	link      *link
	links     int
	ends      []*end // all that there were
	keys      uint32
	tags      uint64
	fromCache int       // Calls answered from a cache
	xids      [2]uint32 // the same numbers in both directions (R268)

	left     [2]int             // RPCs to be made
	rpcs     map[uint64]*rpc    // by tag
	byXID    [2]map[uint32]*rpc // by who made them
	waiting  [2][]*rpc          // for a connection
	executed map[uint64]int
	cache    map[callKey]*cached
	seed     maphash.Seed
	outcomes map[string]int
}

// Run simulates.
func Run(cfg Config) Result {
	w := &world{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 7)), trace: sha256.New(), faults: true,
		rpcs: make(map[uint64]*rpc), byXID: [2]map[uint32]*rpc{{}, {}}, executed: make(map[uint64]int), cache: make(map[callKey]*cached), seed: maphash.MakeSeed(), outcomes: make(map[string]int),
	}
	w.draw = newDraw(w.rng)
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
			w.faults = false // from here on all has to come to an end
			w.note("no more faults")
		}
		if w.events > 100_000+2000*cfg.RPCs { // fifty times what it takes
			w.fail("it does not come to an end")
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
	}
}

// connect makes a connection and lets those who wait use it.
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

// newLinkIfNeeded is what a client does some time after it lost its connection.
func (w *world) newLinkIfNeeded() {
	if len(w.waiting[0])+len(w.waiting[1])+w.left[0]+w.left[1] > 0 {
		w.connect()
	}
}

// caller makes RPCs one after the other until there are enough.
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

// try sends an RPC over the connection that there is, or lets it wait for one.
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
		p.end.step(engine.Event{Kind: engine.EventClose, Err: errClosed}) // the credit would never come back
	})
}

func (w *world) cancel(p *rpc, try int) {
	if p.posted && p.tries == try {
		p.cancelled = true
		p.end.step(engine.Event{Kind: engine.EventCancel, XID: p.xid, Call: &p.call})
	}
}

// done takes a Call back from the engine.
func (w *world) done(e *end, p *rpc) {
	c := &p.call
	if !p.posted || p.end != e {
		w.fail("RPC %d ends twice", p.tag)
		return
	}
	p.posted = false
	p.sent = p.sent || c.Sent
	for _, r := range p.regions {
		if !r.live && c.Reply != nil && r.key != c.Ended {
			w.fail("RPC %d: key %#x ended, which the Call does not know", p.tag, r.key)
		}
		r.live, r.gaveUp = false, p.cancelled && c.Sent
	}
	var peer *engine.PeerError
	var size *engine.SizeError
	switch {
	case c.Err == nil && (c.Reply != nil || c.LongReply > 0):
		p.check(w)
		if p.lent {
			w.over(p, "ok by read chunks")
			return
		}
		w.over(p, "ok")
	case p.cancelled:
		w.over(p, "cancelled")
	case errors.As(c.Err, &peer):
		if !p.narrow {
			w.fail("RPC %d: %v", p.tag, c.Err)
		}
		w.over(p, "refused")
	case errors.As(c.Err, &size) && w.draw.rate[Resize] > 0 && !c.Sent:
		w.after(0, "does not fit any more", func() { w.try(p) })
	case errors.Is(c.Err, errMemory):
		w.over(p, "no memory for the reply")
	case errors.Is(c.Err, errBroken), errors.Is(c.Err, errClosed), errors.Is(c.Err, engine.ErrTimeout), errors.Is(c.Err, engine.ErrNoDone):
		if p.tries == tries {
			w.over(p, "lost")
			return
		}
		w.after(0, "lost", func() { w.try(p) })
	default:
		w.fail("RPC %d: %v", p.tag, c.Err)
		w.over(p, "failed")
	}
}

// over ends an RPC and lets its caller make another one.
func (w *world) over(p *rpc, how string) {
	p.outcome = how
	w.outcomes[how]++
	w.note("RPC %d: %s", p.tag, how)
	w.caller(p.from)
}

// verdict looks at the whole, when nothing happens any more.
func (w *world) verdict() {
	for tag := uint64(1); tag <= w.tags; tag++ {
		p, n := w.rpcs[tag], w.executed[tag]
		switch {
		case p.outcome == "":
			w.fail("RPC %d never ended", tag)
		case n > 0 && !p.sent:
			w.fail("RPC %d: was not sent, says the caller, and was executed", tag)
		case w.draw.cache && n > 1, n > p.tries:
			w.fail("RPC %d was executed %d times in %d tries", tag, n, p.tries)
		case strings.HasPrefix(p.outcome, "ok") && n == 0:
			w.fail("RPC %d was answered and not executed", tag)
		}
	}
	for _, e := range w.ends {
		if n := len(e.requests); n > 0 {
			w.fail("%s keeps %d Requests", e.name, n)
		}
		if n := len(e.given); n > 0 {
			w.fail("%s keeps the memory of %d replies", e.name, n)
		}
		if e.borrowed != 0 {
			w.fail("%s keeps %d send buffers", e.name, e.borrowed)
		}
		for _, r := range e.regions {
			if r.live {
				w.fail("%s: key %#x never ended", e.name, r.key)
			}
		}
		if s := e.eng.Stats(); !e.gone && (s.SendQueueFilled != 0 || s.Waiting != 0 || s.DoneMessagesDue != 0 || len(e.rq) != s.PostedRecvs) {
			w.fail("%s: %+v with nothing to do, %d Receives posted", e.name, s, len(e.rq))
		}
	}
}
