package inflight

import "context"

// Contexts knows which records are given up when which contexts are done. Contexts with the same
// Done channel, such as those that context.WithValue makes, are one. The owner's lock guards it,
// and its methods must be called with that.
//
//	Watch ──> watched ──┬── Forget ─────────────────────────────> no longer
//	                    └── the context is done: Done is called ──> the owner calls Forget
//
// The last context without records keeps its registration, so that a caller with one Call at a time
// does not register for each.
type Contexts[T any] struct {
	// Done is called on a separate goroutine, without the lock, when a context is done that records
	// have. The owner takes the lock and gives up the records of First, until that is nil.
	Done func(*Context[T])

	known map[<-chan struct{}]*Context[T]
	idle  *Context[T] // without records; nil if all have some
}

// Context is a context with the records that are given up when it is done.
type Context[T any] struct {
	ctx   context.Context
	fire  func()
	stop  func() bool
	first *Watched[T]
}

// Watched is the part of a record that is in a Context.
type Watched[T any] struct {
	record     *T
	in         *Context[T]
	prev, next *Watched[T]
}

// Watch makes Contexts give up record when ctx is done. w is the record's, and in no Context.
func (c *Contexts[T]) Watch(ctx context.Context, record *T, w *Watched[T]) {
	done := ctx.Done()
	if done == nil {
		return
	}
	of := c.known[done]
	switch {
	case of == nil:
		of = &Context[T]{ctx: ctx}
		of.fire = func() { c.Done(of) }
		of.stop = context.AfterFunc(ctx, of.fire)
		if c.known == nil {
			c.known = make(map[<-chan struct{}]*Context[T])
		}
		c.known[done] = of
	case of.first == nil && ctx.Err() != nil: // it may have fired while it was idle
		of.stop = context.AfterFunc(ctx, of.fire)
	}
	if c.idle == of {
		c.idle = nil
	}
	*w = Watched[T]{record: record, in: of, next: of.first}
	if of.first != nil {
		of.first.prev = w
	}
	of.first = w
}

// Forget takes the record of w out of its context, if it has one.
func (c *Contexts[T]) Forget(w *Watched[T]) {
	of := w.in
	if of == nil {
		return
	}
	if w.prev == nil {
		of.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	*w = Watched[T]{}
	if of.first == nil {
		c.drop(c.idle)
		c.idle = of
	}
}

// Close removes all registrations. No record may be watched.
func (c *Contexts[T]) Close() {
	c.drop(c.idle)
	c.idle = nil
}

// drop removes the registration of a Context without records.
func (c *Contexts[T]) drop(of *Context[T]) {
	if of != nil {
		of.stop()
		delete(c.known, of.ctx.Done())
	}
}

// First returns a record of the Context, or nil.
func (c *Context[T]) First() *T {
	if c.first == nil {
		return nil
	}
	return c.first.record
}

// Err returns the context's error.
func (c *Context[T]) Err() error { return c.ctx.Err() }
