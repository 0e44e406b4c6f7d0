package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// offers counts the Calls of a connection that have keys for the peer. A queue pair may have fewer
// memory windows than these Calls need. A Call that gets none waits until another one returns, in
// the order in which they come: while one waits, a Call with keys does not pass it.
//
//	prepare ── ErrQueueFull ──> turn ──> prepare ── ErrQueueFull ──> wait for an end ──┐
//	   │       or one waits               ^ │  └ no other Call has keys: fail          │
//	   └──> offered <───────────────────────┘ └────────────────────────────────────────┘
//
// A cancelled Call has keys until the peer no longer uses them.
type offers struct {
	held    atomic.Int32  // Calls with keys
	ends    atomic.Uint64 // Calls that gave their keys up
	waiting atomic.Int32  // Calls that have the turn, or wait for it
	turn    chan struct{} // has room for one
	mu      sync.Mutex
	ended   chan struct{} // closed when a Call gives its keys up; nil: nothing waits for it
}

// errTurn is the error of a Call that must wait before it has its first key, because others wait.
var errTurn = fmt.Errorf("rdmaio: other Calls wait for memory windows: %w", verbs.ErrQueueFull)

// mayBegin returns errTurn if other Calls wait, and the Call is not the one whose turn it is.
func (o *offering) mayBegin() error {
	if !o.slot.hasRegions() && !o.turn && o.offered.offers.waiting.Load() > 0 {
		return errTurn
	}
	return nil
}

// begin counts a Call that has its first key.
func (o *offers) begin() { o.held.Add(1) }

// end counts a Call without keys again.
func (o *offers) end() {
	o.ends.Add(1)
	if o.waiting.Load() > 0 {
		o.mu.Lock()
		if o.ended != nil {
			close(o.ended)
			o.ended = nil
		}
		o.mu.Unlock()
	}
	o.held.Add(-1) // the last one that waits sees the end before this
}

// next returns a channel that is closed when a further Call gives its keys up.
func (o *offers) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended == nil {
		o.ended = make(chan struct{})
	}
	return o.ended
}

// awaitTurn is prepare for a Call that did not get the memory windows that it needs: it waits until
// other Calls return.
func (o *offering) awaitTurn(ctx context.Context) error {
	if err := o.conclude(o.slot); err != nil {
		return err
	}
	w := &o.offered.offers
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	o.waits.Add(1)
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-o.ctx.Done():
		return context.Cause(o.ctx)
	}
	o.turn = true
	defer func() { <-w.turn }()
	for {
		before := w.ends.Load()
		err := o.prepare(ctx)
		if !errors.Is(err, verbs.ErrQueueFull) {
			return err
		}
		if o.slot.hasRegions() { // its own keys end now
			before++
		}
		if err := o.conclude(o.slot); err != nil {
			return err
		}
		ended, alone := w.next(), w.held.Load() == 0
		if w.ends.Load() != before {
			continue
		}
		if alone {
			return fmt.Errorf("%w: the Call needs more than the connection has; use fewer items and results, or Config.RemoteInvalidate -1", err)
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		case <-o.ctx.Done():
			return context.Cause(o.ctx)
		}
	}
}
