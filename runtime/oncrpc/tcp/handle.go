package tcp

import "github.com/rpcrdma/rpcrdma/runtime/oncrpc"

// Serve implements oncrpc.Responder. It runs the handler on a separate goroutine when there is a
// place (Config.MaxHandlers), or on this one with Config.NonBlocking.
func (r *request) Serve(h oncrpc.Handler) {
	c := r.conn
	r.handler = h
	r.users.Add(1)
	if c.set.NonBlocking {
		r.handle(!c.called()) // the connection must read while it is called
		return
	}
	if c.shared.places.Start(&c.waiting, r) {
		return
	}
	if c.ctx.Err() != nil { // it may have ended before the Request was in the queue
		c.dropWaiting()
	}
}

// run runs the handler of a Request at a place.
func (r *request) run() {
	if r.conn.awaitRoom() {
		r.handle(true)
	} else {
		r.abandon()
	}
}

// abandon drops a Request whose handler does not run.
func (r *request) abandon() {
	r.drop()
	r.leave()
}

// drop drops a Request by way of all Responders.
func (r *request) drop() { r.Request.Drop(nil) }

// dropWaiting drops the Requests that wait for a place. The connection is closed.
func (s *serving) dropWaiting() { s.conn.shared.places.RemoveAll(&s.waiting, (*request).abandon) }

// handle runs the handler, with wait when there is memory for its reply. If it panics, also as an
// oncrpc.Bounder, or calls runtime.Goexit before it has answered, handle closes the connection.
// With NonBlocking it does so after the answer, too, because the goroutine is the reader.
func (r *request) handle(wait bool) {
	c := r.conn
	returned := false
	prog, vers, proc, _ := oncrpc.Procedure(r.Message) // the message may be gone later
	defer func() {
		if returned {
			r.leave()
			return
		}
		v := recover()
		if v == nil && r.answered.Load() && !c.set.NonBlocking {
			return // only the goroutine ends
		}
		r.fault(v, prog, vers, proc)
	}()
	switch {
	case r.canceled.Load():
		r.refuseCanceled()
	case wait && !r.awaitTicket(oncrpc.BoundOf(r.handler, prog, vers, proc)):
		r.drop()
	case r.canceled.Load(): // during the wait
		r.refuseCanceled()
	default:
		r.handler.ServeRPC(&r.Request)
	}
	returned = true
}
