package admission

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// Places are the places at which the handlers of a server run: Most for all connections, and one
// more for each connection. So handlers that wait for some clients, for as long as those like, do
// not keep out the Calls of others. A Request, of type R, that gets no place waits in the Queue of
// its connection, without a goroutine. A place that becomes free goes to the sources in turn, and
// within a source to its connections in turn:
//
//	Places ──> source ──┬─> Queue of a connection: Requests in their order
//	   │                └─> Queue ...
//	   └────> receded: Queues whose peers may be gone, when no other waits
//
// A handler runs on a goroutine that ran another one before, if there is one: its stack has the
// size that handlers need (see idle).
type Places[R any] struct {
	Most int      // 0: no limit
	Run  func(*R) // runs the handler of a Request. It may end its goroutine.
	// Neither is changed after the first use.

	mu      sync.Mutex
	used    int
	sources map[netip.Prefix]*group[R]
	waiting list[group[R]] // those with Requests
	receded list[Queue[R]] // those with Requests
	queues  int            // that have called Join or Start, and not Leave
	idle    idle[R]
	swept   func() // sweep, bound once
}

// group has the Queues of one source.
type group[R any] struct {
	prefix  netip.Prefix // invalid: of one connection
	members int
	waiting list[Queue[R]] // those with Requests
	turn    element[group[R]]
}

// Queue is the state of Places for one connection. The zero Queue is empty.
type Queue[R any] struct {
	running sync.WaitGroup // Requests that run or wait
	length  atomic.Int32   // of waiting

	// Guarded by Places.mu.
	joined  bool // counted in Places.queues
	own     bool // the connection's own place is in use
	receded bool
	source  *group[R]
	alone   group[R] // the source, if it is the only connection of that
	waiting []*R
	turn    element[Queue[R]]
}

// job is a Request at a place.
type job[R any] struct {
	request *R // nil: none
	queue   *Queue[R]
	own     bool // at the connection's own place
}

// Join sets the source of a connection with a Queue, before its first Start. Connections of one
// source take turns among themselves. A connection from this machine, or without Join, has its own
// turn.
func (p *Places[R]) Join(q *Queue[R], s Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.join(q); s.Local {
		return
	}
	g := p.sources[s.Prefix]
	if g == nil {
		if g = (&group[R]{prefix: s.Prefix}); p.sources == nil {
			p.sources = make(map[netip.Prefix]*group[R])
		}
		p.sources[s.Prefix] = g
	}
	g.members++
	q.source = g
}

// join counts a Queue. p.mu must be held.
func (p *Places[R]) join(q *Queue[R]) {
	if !q.joined {
		q.joined, q.source = true, &q.alone
		p.queues++
	}
}

// Start runs the handler for a Request of the connection with a Queue. If there is no place, it
// queues the Request and returns false.
func (p *Places[R]) Start(q *Queue[R], r *R) bool {
	j := job[R]{request: r, queue: q}
	q.running.Add(1)
	p.mu.Lock()
	p.join(q)
	switch {
	case !q.own:
		q.own, j.own = true, true
	case p.Most == 0 || p.used < p.Most:
		p.used++
	default:
		q.waiting = append(q.waiting, r)
		q.length.Store(int32(len(q.waiting)))
		p.list(q)
		p.mu.Unlock()
		return false
	}
	w := p.idle.take()
	p.mu.Unlock()
	if w == nil {
		go p.work(make(worker[R], 1), j)
	} else {
		w <- j
	}
	return true
}

// list gives a Queue with Requests a turn, unless it has one. p.mu must be held.
func (p *Places[R]) list(q *Queue[R]) {
	if q.receded {
		p.receded.push(&q.turn, q)
		return
	}
	q.source.waiting.push(&q.turn, q)
	p.waiting.push(&q.source.turn, q.source)
}

// unlist takes the turn from a Queue. p.mu must be held.
func (*Places[R]) unlist(q *Queue[R]) {
	if q.turn.remove(); q.source != nil && q.source.waiting.n == 0 {
		q.source.turn.remove()
	}
}

// work runs handlers, beginning with j.
func (p *Places[R]) work(w worker[R], j job[R]) {
	defer func() {
		if j.request == nil {
			return
		}
		if j = p.next(j, nil); j.request != nil { // the handler exited
			go p.work(make(worker[R], 1), j)
		}
	}()
	for ok := true; ok; j, ok = <-w {
		for j.request != nil {
			p.Run(j.request)
			j = p.next(j, w)
		}
	}
}

// next finishes a job and returns the next one for its place. Without a further one it frees the
// place, and w, unless it is nil, is idle.
func (p *Places[R]) next(j job[R], w worker[R]) job[R] {
	defer j.queue.running.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.own {
		if j.request = p.take(j.queue); j.request != nil {
			return j
		}
		j.queue.own = false
	} else if next := p.pop(); next.request != nil {
		return next
	} else {
		p.used--
	}
	if w != nil {
		if p.swept == nil {
			p.swept = p.sweep
		}
		p.idle.put(w, p.swept)
	}
	return job[R]{}
}

// pop removes and returns the next Request that waits for a shared place. p.mu must be held.
func (p *Places[R]) pop() job[R] {
	var q *Queue[R]
	if g := p.waiting.pop(); g != nil {
		q = g.waiting.pop()
		if g.waiting.n > 0 {
			p.waiting.push(&g.turn, g)
		}
	} else if q = p.receded.pop(); q == nil {
		return job[R]{}
	}
	r := p.take(q)
	if len(q.waiting) > 0 {
		p.list(q)
	}
	return job[R]{request: r, queue: q}
}

// take removes and returns the first Request of a Queue, or nil. p.mu must be held.
func (p *Places[R]) take(q *Queue[R]) *R {
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0], q.waiting = nil, q.waiting[1:]
	q.length.Store(int32(len(q.waiting)))
	if len(q.waiting) == 0 {
		p.unlist(q)
	}
	return r
}

// Recede is called when the peer of a connection has closed its direction. It may have gone, and
// then the replies are not read. So the connection's Requests that wait get places when no others
// wait.
func (p *Places[R]) Recede(q *Queue[R]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unlist(q)
	if q.receded = true; len(q.waiting) > 0 {
		p.list(q)
	}
}

// sweep ends idle goroutines that the load does not need.
func (p *Places[R]) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle.sweep()
}

// RemoveAll removes the Requests that wait in a Queue, and calls drop for each.
func (p *Places[R]) RemoveAll(q *Queue[R], drop func(*R)) {
	p.mu.Lock()
	all := q.waiting
	q.waiting = nil
	q.length.Store(0)
	p.unlist(q) // else Places would keep the connection's memory until a shared place is free
	p.mu.Unlock()
	for _, r := range all {
		drop(r)
		q.running.Done()
	}
}

// Leave waits until no Request of the connection with a Queue runs or waits. Start must not be
// called for it any more. Idle goroutines end with the last connection.
func (p *Places[R]) Leave(q *Queue[R]) {
	q.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !q.joined {
		return
	}
	q.joined = false
	if g := q.source; g != &q.alone {
		if g.members--; g.members == 0 {
			delete(p.sources, g.prefix)
		}
	}
	if p.queues--; p.queues == 0 {
		p.idle.end()
	}
}

// Waiting reports whether Requests wait in the Queue. The place of a handler that is about to
// return goes to one of them.
func (q *Queue[R]) Waiting() bool { return q.length.Load() > 0 }

// Len returns the number of Requests that wait.
func (q *Queue[R]) Len() int { return int(q.length.Load()) }
