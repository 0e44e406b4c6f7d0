// Package places limits how many handlers of a server run at a time.
package places

import (
	"slices"
	"sync"
)

// Places are the places at which the handlers of a server run: Most for all connections, and one
// more for each connection. So handlers that wait for some clients, for as long as those like, do
// not keep out the Calls of others. A Request, of type R, that gets no place waits in the Queue of
// its connection, without a goroutine. A place that becomes free goes to the connections in turn.
type Places[R any] struct {
	Most int // 0: no limit. It is not changed after the first use.

	mu      sync.Mutex
	used    int
	waiting []*Queue[R] // those that have Requests
}

// Queue is the state of Places for one connection. The zero Queue is empty.
type Queue[R any] struct {
	own     bool // the connection's own place is in use
	listed  bool // the Queue is in Places.waiting
	waiting []*R
}

// Place is the kind of place at which a handler runs.
type Place int

const (
	None Place = iota // none: the Request waits
	Own
	Shared
)

// Assign returns a place for a Request of the connection with a Queue. It queues the Request if
// there is none.
func (p *Places[R]) Assign(q *Queue[R], r *R) Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !q.own:
		q.own = true
		return Own
	case p.Most == 0 || p.used < p.Most:
		p.used++
		return Shared
	}
	q.waiting = append(q.waiting, r)
	if !q.listed {
		q.listed = true
		p.waiting = append(p.waiting, q)
	}
	return None
}

// Next returns the next Request for a place at which a Request of the connection with a Queue ran.
// It frees the place and returns nil if none waits.
func (p *Places[R]) Next(at Place, q *Queue[R]) *R {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at == Own {
		if r := q.pop(); r != nil {
			return r
		}
		q.own = false
		return nil
	}
	for len(p.waiting) > 0 {
		q := p.waiting[0]
		p.waiting[0], p.waiting = nil, p.waiting[1:]
		r := q.pop()
		if q.listed = len(q.waiting) > 0; q.listed {
			p.waiting = append(p.waiting, q)
		}
		if r != nil {
			return r
		}
	}
	p.used--
	return nil
}

// RemoveAll removes and returns the Requests that wait in a Queue.
func (p *Places[R]) RemoveAll(q *Queue[R]) []*R {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	if q.listed { // else Places would keep the connection's memory until a shared place is free
		q.listed = false
		p.waiting = slices.DeleteFunc(p.waiting, func(o *Queue[R]) bool { return o == q })
	}
	return all
}

// pop removes and returns the first Request of a Queue, or nil.
func (q *Queue[R]) pop() *R {
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0], q.waiting = nil, q.waiting[1:]
	return r
}
