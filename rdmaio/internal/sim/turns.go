package sim

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// callQueue has the Calls of a connection that wait for a place.
type callQueue = admission.Queue[turn]

// turns are the places at which the server's handlers run: the product's (admission.Places), with a
// Queue for each connection. A connection has its own place, and shares the others.
//
//	Call ──> Start ──> place ──> handler, or reply cache ──> answer ──> place of the next one
//	           └── Queue of the connection ──────────────────────────────┘
//
// The simulation follows each place, and asserts that the shared ones go to connections in turn: no
// other connection gets two of them while a connection waits for one.
type turns struct {
	w      *world
	places admission.Places[turn]
	queues map[*end]*callQueue
	one    callQueue           // of all connections, with Bugs.OneQueue
	own    map[*callQueue]bool // its own place is in use
	live   map[*turn]bool      // Requests with a place

	waiting map[*end]int
	passed  map[*end]map[*end]int // shared places that went to another end while the first waits
	freed   *place                // by the last handler that is over
}

// place is where a handler runs: the one of a Queue, or a shared one.
type place struct{ of *callQueue }

// turn is a Request that has a place, or waits for one.
type turn struct {
	t     *turns
	e     *end
	q     *engine.Request
	tag   uint64
	run   func(*turn)
	place *place
	over  chan struct{} // closed when it needs no place any more
}

// newTurns returns the places of a run, or nil.
func newTurns(w *world) *turns {
	if w.draw.handlers == 0 {
		return nil
	}
	t := &turns{
		w: w, queues: make(map[*end]*callQueue), own: make(map[*callQueue]bool), live: make(map[*turn]bool),
		waiting: make(map[*end]int), passed: make(map[*end]map[*end]int),
	}
	t.places.Most, t.places.Run = w.draw.handlers, t.place
	return t
}

// start runs a handler when there is a place for it.
func (t *turns) start(e *end, q *engine.Request, tag uint64, run func(*turn)) {
	t.settle()
	to := t.queues[e]
	if to == nil {
		if to = new(callQueue); t.w.cfg.Bugs.OneQueue {
			to = &t.one
		}
		t.queues[e] = to
	}
	own := !t.own[to]
	r := &turn{t: t, e: e, q: q, tag: tag, run: run, place: new(place), over: make(chan struct{})}
	if own {
		r.place.of = to
	}
	if t.places.Start(to, r) {
		t.own[to] = true
		return
	}
	r.place = nil // no goroutine has it yet: a handler must end first
	t.w.tally.queued++
	if t.waiting[e]++; t.waiting[e] == 1 {
		t.passed[e] = make(map[*end]int)
	}
}

// place runs a handler at a place, until it is over. A goroutine calls it while the loop waits, or
// is about to: it uses nothing but t and the inbox.
func (t *turns) place(r *turn) {
	var fault string
	if r.place == nil {
		r.place, t.freed = t.freed, nil
		t.waiting[r.e]--
		if r.place.of == nil {
			fault = t.pass(r.e)
		}
	}
	t.w.inbox.put(r.tag<<8|uint64(r.e.link.number&0xff), r.e.name+" has a place", func() {
		if fault != "" {
			t.w.fail("%s", fault)
		}
		t.live[r] = true
		r.run(r)
	})
	<-r.over
}

// pass counts a shared place that goes to an end. It returns the fault in that, or "".
func (t *turns) pass(to *end) (fault string) {
	clear(t.passed[to])
	for e, n := range t.waiting {
		if e == to || n == 0 {
			continue
		}
		if t.passed[e][to]++; t.passed[e][to] > 1 {
			fault = max(fault, fmt.Sprintf("%s gets place after place, and %s waits", to.name, e.name))
		}
	}
	return fault
}

// settle takes back a place that no Request has got.
func (t *turns) settle() {
	if f := t.freed; f != nil && f.of != nil {
		t.own[f.of] = false
	}
	t.freed = nil
}

// end frees the place of a Request. It is the last thing that an event does.
func (r *turn) end() {
	if r == nil || !r.t.live[r] {
		return
	}
	delete(r.t.live, r)
	r.t.settle()
	r.t.freed = r.place
	close(r.over)
}

// leave drops the Requests of an end that is down.
func (t *turns) leave(e *end) {
	if t == nil || t.queues[e] == nil || t.w.cfg.Bugs.OneQueue {
		return
	}
	t.places.RemoveAll(t.queues[e], func(r *turn) {
		t.waiting[e]--
		t.w.after(0, e.name+" drops a Call", func() { e.answer(r.q, engine.Answer{Drop: true}) })
	})
	go t.places.Leave(t.queues[e])
}

// stop stops all goroutines, when a run is over.
func (t *turns) stop() {
	if t == nil {
		return
	}
	for _, q := range t.queues {
		t.places.RemoveAll(q, func(*turn) {})
		go t.places.Leave(q)
	}
	for r := range t.live {
		r.end()
	}
}
