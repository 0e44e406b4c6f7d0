package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// BackchannelConfig configures NewBackchannel. A nil BackchannelConfig is valid and has the default
// of every field.
type BackchannelConfig struct {
	// Wait is the longest time that a Call waits for a connection of the client. If zero, the
	// default is 90 s. If negative, there is no limit but the context of the Call.
	Wait time.Duration

	// Retransmits is the number of times that a Call is sent again after its connection was lost.
	// If zero, the default is 4. If negative, a Call is sent once.
	Retransmits int

	// Events is called with Resent events. If nil, there are none. All other events of the
	// connections go to the Config.Events of their server.
	Events func(Event)
}

// Backchannel makes reverse Calls to one client of a server, over the connection that the client
// has now. Only the client can make another connection. A Call whose connection is lost waits for
// that one and is sent again there with the same XID (RFC 8167 §5.4; R278). The upper layer knows
// which connections belong to a client, and passes them to Bind. All methods are safe for
// concurrent use.
type Backchannel struct {
	wait   time.Duration
	losses int
	events func(Event)
	xids   oncrpc.XIDs
	again  atomic.Uint64

	mu      sync.Mutex
	conns   []*Conn // in the order of Bind
	closed  bool
	changed chan struct{} // closed and replaced by Bind and Close
}

// NewBackchannel returns a Backchannel without a connection. cfg may be nil.
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
	b.xids.Seed()
	return b
}

// Bind makes c the connection for further Calls, and calls c.AllowReverse. c must be a connection
// of the client, and the client must be ready to be called (R280). When c is down, the connection
// bound before it is used if it is still up. Calls in progress stay on their connection. A handler
// may call Bind for each of its Calls, also after its connection is down.
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

// latest returns the connection bound last of those that are up, or nil. mu is locked.
func (b *Backchannel) latest() *Conn {
	for n := len(b.conns); n > 0; n-- {
		if c := b.conns[n-1]; c.Err() == nil {
			return c
		}
		b.conns[n-1] = nil
		b.conns = b.conns[:n-1]
	}
	return nil
}

// XID returns the next transaction ID. It is unique if all Calls of the Backchannel use it.
func (b *Backchannel) XID() uint32 { return b.xids.Next() }

// Retransmissions returns the number of times that Calls were sent again on a further connection.
func (b *Backchannel) Retransmissions() uint64 { return b.again.Load() }

// Call makes a reverse RPC as Conn.Call does. The error is a *CallError. It wraps ErrNoClient if
// there was no connection for BackchannelConfig.Wait, or until ctx ended.
func (b *Backchannel) Call(ctx context.Context, call *Call) (*Reply, error) {
	return retry(ctx, call, b, b.losses, &b.again, b.events)
}

// Close makes Calls that wait for a connection, and further Calls, fail with ErrClosed. It has no
// effect on Calls in progress or on connections.
func (b *Backchannel) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.news()
}

// news wakes the Calls that wait for a connection. mu is locked.
func (b *Backchannel) news() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// acquire implements source.
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
		if c := b.latest(); c != nil {
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

// release implements source.
func (*Backchannel) release(*Conn) {}

// turns implements source. Only the client chooses the version.
func (*Backchannel) turns(*Conn, error) bool { return false }
