package tcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// ClientConfig configures NewClient. A nil *ClientConfig has the default in every field.
type ClientConfig struct {
	// Conn is the Config of each connection. If nil, it has the default of every field.
	Conn *Config

	// Dial makes the stream of each connection. If nil, the default connects over TCP.
	Dial func(ctx context.Context, addr string, cfg *Config) (*Conn, error)

	// DialTimeout is the longest time that one attempt to connect may take. If zero, the default is
	// 10 s. If negative, there is no limit.
	DialTimeout time.Duration

	// MinBackoff is the first pause after a failure to connect, and after a connection that was
	// lost before it brought a reply. If zero, the default is 100 ms. If negative, there are no
	// pauses. The pause doubles each time up to MaxBackoff, whose default is 30 s. Each is
	// shortened by up to half at random, so that many clients do not come back at once.
	MinBackoff, MaxBackoff time.Duration

	// DialFailures is the number of failures to connect through which a Call waits. If zero, there
	// is no limit but the context of the Call. If negative, a Call fails with the first failure.
	DialFailures int

	// Retransmits is the number of times that a Call is sent again after its connection was lost,
	// with the same XID. If zero, the default is 4. If negative, a Call is sent once. The server
	// may execute the Call each time, unless it has a reply cache (package replycache).
	Retransmits int
}

// Client makes Calls to a server over one connection at a time. It connects when a Call needs a
// connection, and replaces a lost one. All methods are safe for concurrent use.
type Client struct {
	addr   string
	cfg    ClientConfig
	xids   oncrpc.XIDs
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	conn    *Conn         // nil, or the latest; it may be down
	dialing chan struct{} // closed when the attempt to connect ends; nil: there is none
	failed  error         // of the last attempt
	pause   time.Duration // before the next attempt
	stats   ClientStats
	closed  bool
	wg      sync.WaitGroup // the attempt to connect, and the closing of lost connections
}

// ClientStats holds the counts of a Client. They only grow.
type ClientStats struct {
	Connects        uint64 // connections made
	DialFailures    uint64 // attempts to connect that failed
	Retransmissions uint64 // Calls sent again on a further connection
}

// NewClient returns a Client for a server at an address of the form that net.Dial has for "tcp". It
// does not connect before the first Call. cfg may be nil. The caller must Close the Client.
func NewClient(addr string, cfg *ClientConfig) (*Client, error) {
	c := &Client{addr: addr}
	if cfg != nil {
		c.cfg = *cfg
	}
	if c.cfg.Dial == nil {
		c.cfg.Dial = Dial
	}
	orDefault := func(f *time.Duration, def time.Duration) {
		if *f == 0 {
			*f = def
		}
		*f = max(*f, 0)
	}
	orDefault(&c.cfg.DialTimeout, 10*time.Second)
	orDefault(&c.cfg.MinBackoff, 100*time.Millisecond)
	orDefault(&c.cfg.MaxBackoff, 30*time.Second)
	if c.cfg.MaxBackoff < c.cfg.MinBackoff {
		return nil, fmt.Errorf("tcp: ClientConfig.MaxBackoff is %v, less than MinBackoff, %v", c.cfg.MaxBackoff, c.cfg.MinBackoff)
	}
	if c.cfg.Retransmits == 0 {
		c.cfg.Retransmits = 4
	}
	c.xids.Seed()
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// XID implements oncrpc.Carrier.
func (c *Client) XID() uint32 { return c.xids.Next() }

// Stats returns the counts.
func (c *Client) Stats() ClientStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Call implements oncrpc.Carrier. It waits for a connection if there is none. If there was none in
// time, the error contains that of the last attempt to connect. A Call that was sent on a lost
// connection is sent again on the next one, and the error says whether the server may have executed
// it on any of them.
func (c *Client) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if call == nil {
		return nil, &oncrpc.CallError{Err: fmt.Errorf("%w: the Call is nil", oncrpc.ErrMessage)}
	}
	if err := call.Check(oncrpc.MsgCall); err != nil {
		return nil, &oncrpc.CallError{Err: err}
	}
	mayHaveRun := false
	for losses := max(c.cfg.Retransmits, 0); ; {
		conn, err := c.acquire(ctx)
		if err != nil {
			return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: mayHaveRun, Err: err}
		}
		reply, err := conn.Call(ctx, call)
		var ce *oncrpc.CallError
		failed := errors.As(err, &ce)
		if mayHaveRun && (!failed || ce.MayHaveRun) {
			c.mu.Lock()
			c.stats.Retransmissions++
			c.mu.Unlock()
		}
		if !failed {
			return reply, err
		}
		if ce.MayHaveRun {
			mayHaveRun = true
			losses--
		}
		ce.MayHaveRun = mayHaveRun
		if conn.Err() == nil || ctx.Err() != nil || losses < 0 || errors.Is(err, oncrpc.ErrMessage) {
			return nil, ce
		}
	}
}

// acquire returns a connection that is up, and makes one if there is none.
func (c *Client) acquire(ctx context.Context) (*Conn, error) {
	for failures := 0; ; {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, oncrpc.ErrClosed
		}
		if c.conn != nil && c.conn.Err() == nil {
			conn := c.conn
			c.mu.Unlock()
			return conn, nil
		}
		if c.dialing == nil {
			c.connect()
		}
		dialing, before := c.dialing, c.stats.DialFailures
		c.mu.Unlock()
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, c.why(ctx.Err())
		}
		c.mu.Lock()
		if c.stats.DialFailures > before {
			failures++
		}
		c.mu.Unlock()
		if most := c.cfg.DialFailures; most != 0 && failures > max(most, 0) {
			return nil, c.why(nil)
		}
	}
}

// why returns an error with that of the last attempt to connect.
func (c *Client) why(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		return c.failed
	}
	if c.failed != nil {
		return fmt.Errorf("%w, and the last attempt to connect failed: %w", err, c.failed)
	}
	return err
}

// connect starts an attempt to connect, after a pause if the last one failed or brought nothing. mu
// is locked.
func (c *Client) connect() {
	c.dialing = make(chan struct{})
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		conn, err := c.dial(c.replace())
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failed = err; err != nil {
			c.stats.DialFailures++
		} else {
			c.conn = conn
			c.stats.Connects++
		}
		close(c.dialing)
		c.dialing = nil
	}()
}

// replace closes the lost connection and returns the pause before the next attempt.
func (c *Client) replace() time.Duration {
	c.mu.Lock()
	old, failed := c.conn, c.failed
	c.conn = nil
	c.mu.Unlock()
	useless := failed != nil
	if old != nil {
		useless = !old.answered()
		c.wg.Go(func() { _ = old.Close() }) // waits for its handlers
	}
	if !useless {
		c.pause = 0
		return 0
	}
	c.pause = min(max(2*c.pause, c.cfg.MinBackoff), c.cfg.MaxBackoff)
	if c.pause == 0 {
		return 0
	}
	return c.pause - rand.N(c.pause/2+1)
}

// dial makes a connection after a pause.
func (c *Client) dial(pause time.Duration) (*Conn, error) {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ctx.Done():
			return nil, oncrpc.ErrClosed
		}
	}
	ctx := c.ctx
	if c.cfg.DialTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.cfg.DialTimeout)
		defer stop()
	}
	return c.cfg.Dial(ctx, c.addr, c.cfg.Conn)
}

// Close closes the connection as Conn.Close does and fails all Calls. The rules of Conn.Close
// apply.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.cancel(oncrpc.ErrClosed)
	c.mu.Unlock()
	c.wg.Wait()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		return conn.Close()
	}
	return nil
}
