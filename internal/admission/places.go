package admission

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Places are the places at which the handlers of a server run: Most for all connections, and one
// more for each connection. So handlers that wait for some clients, for as long as those like, do
// not keep out the Calls of others. A Request, of type R, that gets no place waits in the Queue of
// its connection, without a goroutine. A place that becomes free goes to the connections in turn.
//
// A handler runs on a goroutine that ran another one before, if there is one: its stack has the
// size that handlers need (see idle).
type Places[R any] struct {
	Most int      // 0: no limit
	Run  func(*R) // runs the handler of a Request. It may end its goroutine.
	// Neither is changed after the first use.

	mu      sync.Mutex
	used    int
	waiting []*Queue[R] // those that have Requests
	queues  int         // that have called Start, and not Leave
	idle    idle[R]
}

// Queue is the state of Places for one connection. The zero Queue is empty.
type Queue[R any] struct {
	running sync.WaitGroup // Requests that run or wait
	length  atomic.Int32   // of waiting

	// Guarded by Places.mu.
	joined  bool // counted in Places.queues
	own     bool // the connection's own place is in use
	listed  bool // the Queue is in Places.waiting
	waiting []*R
}

// job is a Request at a place.
type job[R any] struct {
	request *R // nil: none
	queue   *Queue[R]
	own     bool // at the connection's own place
}

// Start runs the handler for a Request of the connection with a Queue. If there is no place, it
// queues the Request and returns false.
func (p *Places[R]) Start(q *Queue[R], r *R) bool {
	j := job[R]{request: r, queue: q}
	q.running.Add(1)
	p.mu.Lock()
	if !q.joined {
		q.joined = true
		p.queues++
	}
	switch {
	case !q.own:
		q.own, j.own = true, true
	case p.Most == 0 || p.used < p.Most:
		p.used++
	default:
		q.waiting = append(q.waiting, r)
		q.length.Store(int32(len(q.waiting)))
		if !q.listed {
			q.listed = true
			p.waiting = append(p.waiting, q)
		}
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
		if j.request = j.queue.pop(); j.request != nil {
			return j
		}
		j.queue.own = false
	} else if next := p.pop(); next.request != nil {
		return next
	} else {
		p.used--
	}
	if w != nil {
		p.idle.put(w, p.sweep)
	}
	return job[R]{}
}

// pop removes and returns the next Request that waits for a shared place. p.mu must be held.
func (p *Places[R]) pop() job[R] {
	for len(p.waiting) > 0 {
		q := p.waiting[0]
		p.waiting[0], p.waiting = nil, p.waiting[1:]
		r := q.pop()
		if q.listed = len(q.waiting) > 0; q.listed {
			p.waiting = append(p.waiting, q)
		}
		if r != nil {
			return job[R]{request: r, queue: q}
		}
	}
	return job[R]{}
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
	if q.listed { // else Places would keep the connection's memory until a shared place is free
		q.listed = false
		p.waiting = slices.DeleteFunc(p.waiting, func(o *Queue[R]) bool { return o == q })
	}
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
	if p.queues--; p.queues == 0 {
		p.idle.end()
	}
}

// Waiting reports whether Requests wait in the Queue. The place of a handler that is about to
// return goes to one of them.
func (q *Queue[R]) Waiting() bool { return q.length.Load() > 0 }

// pop removes and returns the first Request of a Queue, or nil.
func (q *Queue[R]) pop() *R {
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0], q.waiting = nil, q.waiting[1:]
	q.length.Store(int32(len(q.waiting)))
	return r
}
