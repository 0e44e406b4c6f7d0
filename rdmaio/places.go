package rdmaio

// dispatch runs the handler for a Request: on a goroutine of its own when there is a place, or on
// this one with Config.NonBlocking.
func (c *Conn) dispatch(r *request, h Handler) {
	if c.set.NonBlocking {
		c.handle(r, h)
		return
	}
	r.handler = h
	if c.shared.places.Start(&c.requests, r) {
		return
	}
	c.limitReached(LimitMaxHandlers)
	if c.ctx.Err() != nil { // it may have ended before the Request was in the queue
		c.dropWaiting()
	}
}

// run runs the handler of a Request at a place.
func (r *request) run() { r.conn.handle(r, r.handler) }

// dropWaiting drops the Requests that wait for a place. The connection has ended.
func (c *Conn) dropWaiting() {
	c.shared.places.RemoveAll(&c.requests, func(r *request) { r.Request.Drop(nil) })
}
