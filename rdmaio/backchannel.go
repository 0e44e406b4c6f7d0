package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// BackchannelConfig configures NewBackchannel. nil is fine, as for Config.
type BackchannelConfig struct {
	// Wait is how long a Call waits for a connection of the client. Default 90 s; negative: until its context ends.
	Wait time.Duration

	// Retransmits is as in ClientConfig. Default 4; negative: never.
	Retransmits int

	// Events is told of Resent. What else happens its connections tell by the Config of their server.
	Events func(Event)
}

// Backchannel makes reverse Calls to one client of a server, over whichever connection
// that client has now: only a client can make another one, so a Call whose connection is lost waits for it and is
// sent again there with the same XID (RFC 8167 §5.4; R278). What ties the
// connections of a client together is for the upper layer to know, which calls Bind. It is
// for concurrent use.
type Backchannel struct {
	wait   time.Duration
	losses int
	events func(Event)
	xids   xids
	again  atomic.Uint64

	mu      sync.Mutex
	conns   []*Conn // bound ones, the latest last
	closed  bool
	changed chan struct{} // closed, and another one made, at Bind and Close
}

// NewBackchannel makes a Backchannel that has no connection yet. cfg may be nil.
func NewBackchannel(cfg *BackchannelConfig) *Backchannel {
	b := &Backchannel{wait: 90 * time.Second, losses: 4, changed: make(chan struct{})}
	if cfg != nil {
		b.events = cfg.Events
		if cfg.Wait != 0 {
			b.wait = max(cfg.Wait, 0)
		}
		if cfg.Retransmits != 0 {
			b.losses = max(cfg.Retransmits, 0)
		}
	}
	b.xids.seed()
	return b
}

// Bind makes c, a connection of the client that is ready to be called (R280), the one for Calls from now
// on, until it ends: then it is the one bound before, if that still stands. Calls in progress on the one
// before stay there. A handler may Bind with each Call, also one that runs when its connection is gone.
func (b *Backchannel) Bind(c *Conn) {
	c.AllowReverse()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.conns); n > 0 && b.conns[n-1] == c {
		return
	}
	b.conns = slices.DeleteFunc(b.conns, func(old *Conn) bool { return old == c || old.Err() != nil })
	b.conns = append(b.conns, c)
	b.news()
}

// standing is the connection bound last of those that have not ended; nil if there is none. mu is locked.
func (b *Backchannel) standing() *Conn {
	for n := len(b.conns); n > 0; n-- {
		if c := b.conns[n-1]; c.Err() == nil {
			return c
		}
		b.conns[n-1] = nil
		b.conns = b.conns[:n-1]
	}
	return nil
}

// XID is one that no other Call of this Backchannel has had lately.
func (b *Backchannel) XID() uint32 { return b.xids.next() }

// Retransmissions is how many times Calls were sent again, on a further connection.
func (b *Backchannel) Retransmissions() uint64 { return b.again.Load() }

// Call makes a reverse RPC as Conn.Call does. Without a connection for as long as
// BackchannelConfig.Wait, or until its context ends, the error is ErrNoClient.
func (b *Backchannel) Call(ctx context.Context, call *Call) (*Reply, error) {
	return retry(ctx, call, b, b.losses, &b.again, b.events)
}

// Close ends the wait of Calls for a connection, and refuses further ones. Calls in
// progress, and connections, are not touched.
func (b *Backchannel) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.news()
}

// news wakes those who wait. mu is locked.
func (b *Backchannel) news() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// acquire is a Backchannel's as a source.
func (b *Backchannel) acquire(ctx context.Context) (*Conn, error) {
	if b.wait > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, b.wait, fmt.Errorf("%w, for %v", ErrNoClient, b.wait))
		defer stop()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.closed {
			return nil, ErrClosed
		}
		if c := b.standing(); c != nil {
			return c, nil
		}
		if ctx.Err() != nil {
			why := context.Cause(ctx)
			if !errors.Is(why, ErrNoClient) {
				why = fmt.Errorf("%w: %w", ErrNoClient, why)
			}
			return nil, why
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

// release is a Backchannel's as a source.
func (*Backchannel) release(*Conn) {}
