package rdmaio

import "sync"

// places limits how many handlers of a server run at a time. There are Config.MaxHandlers places
// for all connections, and one more for each connection. So handlers that wait for some clients,
// for as long as those like, do not keep out the Calls of others. A Request without a place waits
// in the queue of its connection, without a goroutine. A place that becomes free goes to the
// connections in turn.
type places struct {
	most int // 0: no limit

	mu      sync.Mutex
	used    int
	waiting []*Conn // those whose queues have Requests
}

// requestQueue is the state of places for one connection.
type requestQueue struct {
	own     bool // the connection's own place is in use
	listed  bool // the connection is in places.waiting
	waiting []*request
}

// place is the kind of place at which a handler runs.
type place int

const (
	placeNone place = iota // none: the Request waits
	placeOwn
	placeShared
)

// assign returns a place for a Request. It queues the Request if there is none.
func (p *places) assign(r *request) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &r.conn.requests
	switch {
	case !q.own:
		q.own = true
		return placeOwn
	case p.most == 0 || p.used < p.most:
		p.used++
		return placeShared
	}
	q.waiting = append(q.waiting, r)
	if !q.listed {
		q.listed = true
		p.waiting = append(p.waiting, r.conn)
	}
	return placeNone
}

// next returns the next Request for a place at which a Request of c ran. It frees the place if none
// waits.
func (p *places) next(at place, c *Conn) *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at == placeOwn {
		if r := c.requests.pop(); r != nil {
			return r
		}
		c.requests.own = false
		return nil
	}
	for len(p.waiting) > 0 {
		c := p.waiting[0]
		p.waiting[0], p.waiting = nil, p.waiting[1:]
		r := c.requests.pop()
		if c.requests.listed = len(c.requests.waiting) > 0; c.requests.listed {
			p.waiting = append(p.waiting, c)
		}
		if r != nil {
			return r
		}
	}
	p.used--
	return nil
}

// removeAll removes and returns the Requests that wait in the queue of a connection.
func (p *places) removeAll(c *Conn) []*request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := c.requests.waiting
	c.requests.waiting = nil
	return all
}

// pop removes and returns the first Request of a queue, or nil.
func (q *requestQueue) pop() *request {
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0], q.waiting = nil, q.waiting[1:]
	return r
}

// dispatch runs the handler for a Request: on a goroutine of its own when there is a place, or on
// this one with Config.NonBlocking.
func (c *Conn) dispatch(r *request, h Handler) {
	if c.set.NonBlocking {
		c.handle(r, h)
		return
	}
	r.handler = h
	c.handlers.Add(1)
	if at := c.shared.places.assign(r); at != placeNone {
		go at.work(r)
		return
	}
	c.limitReached(LimitMaxHandlers)
	if c.ctx.Err() != nil { // it may have ended before the Request was in the queue
		c.dropWaiting()
	}
}

// work runs handlers at a place, one after the other, while Requests wait for it.
func (at place) work(r *request) {
	defer func() {
		if r == nil {
			return
		}
		if r = at.handlerDone(r.conn); r != nil { // the handler ended this goroutine
			go at.work(r)
		}
	}()
	for r != nil {
		c := r.conn
		c.handle(r, r.handler)
		r = at.handlerDone(c)
	}
}

// handlerDone ends the handler of a Request of c and returns the next Request for its place, or
// nil.
func (at place) handlerDone(c *Conn) *request {
	next := c.shared.places.next(at, c)
	c.handlers.Done()
	return next
}

// dropWaiting drops the Requests that wait for a place. The connection has ended.
func (c *Conn) dropWaiting() {
	for _, r := range c.shared.places.removeAll(c) {
		r.Request.Drop(nil)
		c.handlers.Done()
	}
}
