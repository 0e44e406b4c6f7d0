package rdmaio

import "sync"

// places are where the handlers of a server's connections run: as many as Config.MaxHandlers for all, and one for each
// connection, so that handlers that wait for the clients of some, as long as those like, do not keep out the
// Calls of others. A Request for which there is none waits without a goroutine, in its connection's queue; a place that
// becomes free goes to the connections in turn.
type places struct {
	most int // 0: no limit

	mu      sync.Mutex
	used    int
	waiting []*Conn // whose queues have Requests
}

// requestQueue is what places know of a connection.
type requestQueue struct {
	own     bool // the place of its own is taken
	listed  bool // in places.waiting
	waiting []*Request
}

// place says where a handler runs.
type place int

const (
	placeNone place = iota // nowhere yet: the Request waits
	placeOwn
	placeShared
)

// take returns a place for a Request, or lets it wait.
func (p *places) take(r *Request) place {
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

// next returns the Request that a place is for, after one of c; if there is none the place is free.
func (p *places) next(at place, c *Conn) *Request {
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

// leave takes the Requests of a connection that is gone out of its queue.
func (p *places) leave(c *Conn) []*Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := c.requests.waiting
	c.requests.waiting = nil
	return all
}

// pop takes the first Request out of a queue.
func (q *requestQueue) pop() *Request {
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0], q.waiting = nil, q.waiting[1:]
	return r
}

// dispatch runs a handler for a Request: on a goroutine when there is a place for it, or right here with Config.NonBlocking.
func (c *Conn) dispatch(r *Request, h Handler) {
	if c.set.NonBlocking {
		c.handle(r, h)
		return
	}
	r.handler = h
	c.handlers.Add(1)
	if at := c.shared.places.take(r); at != placeNone {
		go at.work(r)
		return
	}
	c.limitReached(LimitMaxHandlers)
	if c.ctx.Err() != nil { // it may have gone before the Request was in the queue
		c.dismiss()
	}
}

// work runs handlers at a place, one after the other, as long as Requests wait for it.
func (at place) work(r *Request) {
	defer func() {
		if r == nil {
			return
		}
		if r = at.after(r.conn); r != nil { // the handler ended this goroutine, and others wait
			go at.work(r)
		}
	}()
	for r != nil {
		c := r.conn
		c.handle(r, r.handler)
		r = at.after(c)
	}
}

// after notes that a handler of c is over, and returns the Request that its place is for.
func (at place) after(c *Conn) *Request {
	next := c.shared.places.next(at, c)
	c.handlers.Done()
	return next
}

// dismiss drops the Requests that wait for a place, where the connection is gone.
func (c *Conn) dismiss() {
	for _, r := range c.shared.places.leave(c) {
		r.Drop(nil)
		c.handlers.Done()
	}
}
