package rdmaio

import "github.com/rpcrdma/rpcrdma/internal/places"

// dispatch runs the handler for a Request: on a goroutine of its own when there is a place, or on
// this one with Config.NonBlocking.
func (c *Conn) dispatch(r *request, h Handler) {
	if c.set.NonBlocking {
		c.handle(r, h)
		return
	}
	r.handler = h
	c.handlers.Add(1)
	if at := c.shared.places.Assign(&c.requests, r); at != places.None {
		go work(at, r)
		return
	}
	c.limitReached(LimitMaxHandlers)
	if c.ctx.Err() != nil { // it may have ended before the Request was in the queue
		c.dropWaiting()
	}
}

// work runs handlers at a place, one after the other, while Requests wait for it.
func work(at places.Place, r *request) {
	defer func() {
		if r == nil {
			return
		}
		if r = handlerDone(at, r.conn); r != nil { // the handler ended this goroutine
			go work(at, r)
		}
	}()
	for r != nil {
		c := r.conn
		c.handle(r, r.handler)
		r = handlerDone(at, c)
	}
}

// handlerDone ends the handler of a Request of c and returns the next Request for its place, or
// nil.
func handlerDone(at places.Place, c *Conn) *request {
	next := c.shared.places.Next(at, &c.requests)
	c.handlers.Done()
	return next
}

// dropWaiting drops the Requests that wait for a place. The connection has ended.
func (c *Conn) dropWaiting() {
	for _, r := range c.shared.places.RemoveAll(&c.requests) {
		r.Request.Drop(nil)
		c.handlers.Done()
	}
}
