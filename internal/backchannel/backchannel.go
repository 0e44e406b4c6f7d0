// Package backchannel finds the connection on which a server calls a client now. The Backchannels
// of all carriers use it.
package backchannel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Conn is a connection that a server has accepted.
type Conn interface {
	comparable
	AllowReverse()
	Err() error
}

// Conns holds the connections of one client. All methods are safe for concurrent use.
type Conns[C Conn] struct {
	wait time.Duration // for a connection; zero: no limit

	mu      sync.Mutex
	conns   []C // in the order of Bind
	closed  bool
	changed chan struct{} // closed and replaced by Bind and Close
}

// New returns Conns without a connection. wait is the longest time for which Acquire waits. If
// zero, the default is 90 s. If negative, there is no limit but its context.
func New[C Conn](wait time.Duration) *Conns[C] {
	if wait == 0 {
		wait = 90 * time.Second
	}
	return &Conns[C]{wait: max(wait, 0), changed: make(chan struct{})}
}

// Bind makes c the connection that Acquire returns, and calls c.AllowReverse. When c is down, the
// one bound before it is used if it is still up.
func (b *Conns[C]) Bind(c C) {
	c.AllowReverse()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.conns); n > 0 && b.conns[n-1] == c {
		return
	}
	b.conns = slices.DeleteFunc(b.conns, func(old C) bool { return old == c || old.Err() != nil })
	b.conns = append(b.conns, c)
	b.news()
}

// latest returns the connection bound last of those that are up. b.mu must be held.
func (b *Conns[C]) latest() (c C, ok bool) {
	for n := len(b.conns); n > 0; n-- {
		if c := b.conns[n-1]; c.Err() == nil {
			return c, true
		}
		b.conns = slices.Delete(b.conns, n-1, n)
	}
	return c, false
}

// TryAcquire is Acquire without a wait. Without a connection ok is false, and after Close there
// is an error.
func (b *Conns[C]) TryAcquire() (c C, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return c, false, oncrpc.ErrClosed
	}
	c, ok = b.latest()
	return c, ok, nil
}

// Release does nothing: Conns are a resend.Source, and no connection belongs to a Call.
func (*Conns[C]) Release(C) {}

// Close makes Acquire fail with oncrpc.ErrClosed.
func (b *Conns[C]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.news()
}

// news wakes those that wait for a connection. b.mu must be held.
func (b *Conns[C]) news() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Acquire returns a connection that is up. It waits for one. The error wraps oncrpc.ErrNoClient if
// there was none in time.
func (b *Conns[C]) Acquire(ctx context.Context, _ bool) (none C, err error) {
	if b.wait > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, b.wait, fmt.Errorf("%w, for %v", oncrpc.ErrNoClient, b.wait))
		defer stop()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.closed {
			return none, oncrpc.ErrClosed
		}
		if c, ok := b.latest(); ok {
			return c, nil
		}
		if ctx.Err() != nil {
			why := context.Cause(ctx)
			if !errors.Is(why, oncrpc.ErrNoClient) {
				why = fmt.Errorf("%w: %w", oncrpc.ErrNoClient, why)
			}
			return none, why
		}
		news := b.changed
		b.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
}
