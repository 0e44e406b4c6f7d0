package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Conn makes Calls to one address. Dial makes one. All methods are safe for concurrent use.
type Conn struct {
	set  settings
	sock *net.UDPConn // connected: the system drops datagrams of other addresses
	xids oncrpc.XIDs
	ctx  context.Context
	end  context.CancelCauseFunc // with mu
	wg   sync.WaitGroup          // the reader
	pool sync.Pool               // of *pending; its own, for the channels of testing/synctest

	mu        sync.Mutex
	wake      sync.Cond // renewals or finished has changed, and the Conn is down
	calls     inflight.ByXID[pending]
	serial    uint64                 // of the last Call
	places    int                    // in use, of Config.MaxCalls
	line      inflight.List[pending] // those that wait for a place
	contexts  inflight.Contexts[pending]
	deadlines inflight.Deadlines[pending]
	resends   inflight.Deadlines[pending] // when Calls are sent again
	finished  inflight.Deliveries[pending]
	renewals  int // goroutines that call Call.Renew
	stats     Stats
}

var (
	_ oncrpc.Conn      = (*Conn)(nil)
	_ oncrpc.Submitter = (*Conn)(nil)
)

// Stats holds the counts of a Conn. They only grow.
type Stats struct {
	Retransmissions uint64 // Calls sent again
	StrayReplies    uint64 // datagrams that answer no Call in progress
}

// Dial returns a Conn to an address of the form that net.Dial has for "udp". Nothing is sent, so
// whether a server is there shows with the first Call. ctx bounds the call of Dial. cfg may be nil.
// The caller must Close the Conn.
func Dial(ctx context.Context, addr string, cfg *Config) (*Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	set := cfg.settle()
	c := &Conn{set: set, sock: nc.(*net.UDPConn)}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.wake.L, c.pool.New = &c.mu, newPending
	c.contexts.Done, c.deadlines.Due, c.resends.Due = c.endsWith, c.expire, c.sendAgain
	c.finished = inflight.Deliveries[pending]{Lock: &c.mu, Run: c.run, Fault: c.faulted, Idle: c.wake.Broadcast}
	c.xids.Seed()
	c.wg.Add(1)
	go c.read()
	return c, nil
}

// read reads replies until the Conn is closed. An error is a report from a router or the peer about
// one of our datagrams. It does not say which Call that was, so it fails all in progress, unless
// the next transmission may succeed: the system has learned the size of the path's packets.
func (c *Conn) read() {
	defer c.wg.Done()
	b := make([]byte, 1<<16)
	for {
		n, err := c.sock.Read(b)
		switch {
		case err == nil:
			c.receive(b[:n])
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.EMSGSIZE):
		case errors.Is(err, syscall.ECONNREFUSED):
			c.fail(fmt.Errorf("%w: %w", ErrRefused, err))
		default:
			c.fail(err)
		}
		time.Sleep(time.Millisecond) // a socket with an error that stays must not take a processor
	}
}

// XID implements oncrpc.Carrier.
func (c *Conn) XID() uint32 { return c.xids.Next() }

// AllowReverse implements oncrpc.Conn. It has no effect.
func (c *Conn) AllowReverse() {}

// Peer implements oncrpc.Conn.
func (c *Conn) Peer() oncrpc.Peer { return oncrpc.Peer{Addr: c.RemoteAddr()} }

// RemoteAddr returns the address of the server.
func (c *Conn) RemoteAddr() string { return c.sock.RemoteAddr().String() }

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() string { return c.sock.LocalAddr().String() }

// Network returns "udp".
func (c *Conn) Network() string { return oncrpc.NetIDUDP }

// Done returns a channel that is closed by Close. Errors of the network fail Calls only.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns the reason why the Conn is down, or nil while it is not.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Stats returns the counts.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Close fails Calls in progress with oncrpc.ErrClosed, and waits for their done functions. So it
// must not be called from one.
func (c *Conn) Close() error {
	c.down(oncrpc.ErrClosed)
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.renewals > 0 || c.finished.Busy() {
		c.wake.Wait()
	}
	return nil
}

// down closes the Conn, and fails all Calls.
func (c *Conn) down(why error) {
	c.mu.Lock()
	if c.Err() == nil {
		c.end(why)
		c.calls.All(func(p *pending) { c.conclude(p, why) })
		c.contexts.Close()
		c.deadlines.Close()
		c.resends.Close()
	}
	c.mu.Unlock()
	_ = c.sock.Close()
	c.finished.Deliver()
}
