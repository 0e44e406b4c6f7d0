package tcp

import (
	"github.com/rpcrdma/rpcrdma/internal/places"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Serve implements oncrpc.Responder. It runs the handler on a goroutine of its own when there is a
// place (Config.MaxHandlers), or on this one with Config.NonBlocking.
func (r *request) Serve(h oncrpc.Handler) {
	c := r.conn
	if c.set.NonBlocking {
		c.handle(r, h)
		return
	}
	r.handler = h
	c.wg.Add(1) // Close waits for the answer first
	if at := c.shared.places.Assign(&c.waiting, r); at != places.None {
		go work(at, r)
		return
	}
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
		if r = handled(at, r.conn); r != nil { // the handler ended this goroutine
			go work(at, r)
		}
	}()
	for r != nil {
		c := r.conn
		if c.awaitRoom() {
			c.handle(r, r.handler)
		} else {
			r.Request.Drop(nil) // by way of all Responders
		}
		r = handled(at, c)
	}
}

// handled ends the handler of a Request of c and returns the next Request for its place, or nil.
func handled(at places.Place, c *Conn) *request {
	next := c.shared.places.Next(at, &c.waiting)
	c.wg.Done()
	return next
}

// dropWaiting drops the Requests that wait for a place. The connection has ended.
func (c *Conn) dropWaiting() {
	for _, r := range c.shared.places.RemoveAll(&c.waiting) {
		r.Request.Drop(nil) // by way of all Responders
		c.wg.Done()
	}
}

// handle runs the handler. If it panics or ends its goroutine, handle closes the connection.
func (c *Conn) handle(r *request, h oncrpc.Handler) {
	returned := false
	prog, vers, proc, _ := oncrpc.Procedure(r.Message) // the message may be gone later
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil && r.answered.Load() && !c.set.NonBlocking {
			return // only the goroutine ends
		}
		err, program := oncrpc.Panicked(v), &oncrpc.Program{Number: prog, Version: vers}
		c.set.faults.Error("tcp: a handler panicked, its connection is closed",
			"peer", c.RemoteAddr(), "call", program.Describe(proc), "panic", err.Value, "stack", string(err.Stack))
		c.fail(err)
		r.Request.Drop(nil) // by way of all Responders
	}()
	h.ServeRPC(&r.Request)
	returned = true
}
