package tcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// acquire implements source.
func (c *Client) acquire(ctx context.Context) (*Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.stats.DialFailures
	for {
		failures := c.stats.DialFailures - before
		switch {
		case c.ctx.Err() != nil:
			return nil, oncrpc.ErrClosed
		case c.conn != nil && c.conn.Err() == nil:
			c.users++
			return c.conn, nil
		case ctx.Err() != nil && c.failed != nil:
			return nil, fmt.Errorf("%w, and the last attempt to connect failed: %w", ctx.Err(), c.failed)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case failures > c.allowedFailures(), c.cfg.DialFailures < 0 && time.Now().Before(c.next):
			return nil, c.failed
		case failures > 0 && errors.Is(c.failed, ErrTLS):
			return nil, c.failed
		}
		if !c.running {
			c.running = true
			c.wg.Add(1)
			go c.run()
		}
		news := c.changed
		c.waiting++
		c.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if news == c.changed {
			c.waiting--
		}
	}
}

// allowedFailures returns the number of failures to connect through which a Call waits. c.mu must
// be held.
func (c *Client) allowedFailures() uint64 {
	switch n := c.cfg.DialFailures; {
	case n > 0:
		return uint64(n)
	case n < 0, c.isProbing():
		return 0
	}
	return math.MaxUint64
}

// isProbing reports whether a failure to connect may mean that the address is wrong. c.mu must be
// held.
func (c *Client) isProbing() bool {
	return !c.served && c.cfg.DialFailures == 0 && !c.cfg.WaitForServer
}

// release implements source.
func (c *Client) release(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn != c.conn {
		return // the Client has dropped it
	}
	if c.users--; c.users == 0 {
		c.used = time.Now()
	}
}

// news wakes the Calls that wait for a connection. c.mu must be held.
func (c *Client) news() {
	close(c.changed)
	c.changed, c.waiting = make(chan struct{}), 0
}

// run makes connections, one after the other, while they are wanted.
func (c *Client) run() {
	defer c.wg.Done()
	for c.wanted() {
		if !c.waitBackoff() {
			continue
		}
		conn, err := c.dial()
		if err != nil {
			c.dialFailed(err)
			continue
		}
		start := time.Now()
		useful := c.watch(conn)
		if err := conn.Err(); hasNotRun(err) {
			c.dialFailed(err)
			continue
		}
		c.failing = 0
		switch d := time.Since(start); {
		case !useful:
			c.backOff(fmt.Errorf("tcp: the connection before this one ended without a reply: %w", conn.Err()), 0)
		case c.keeps() && d < max(c.pause, c.cfg.MinBackoff): // it is replaced without a Call, too
			c.backOff(fmt.Errorf("tcp: the connection before this one ended after %v: %w", d, conn.Err()), 0)
		default:
			c.pause = 0
		}
	}
}

// dialFailed begins a pause after an attempt that made no connection to an RPC server.
func (c *Client) dialFailed(err error) {
	pause := c.backOff(err, 1)
	if c.failing++; c.ctx.Err() == nil {
		c.log.Warn("tcp: an attempt to connect failed", "failures", c.failing, "reason", err, "pause", pause)
	}
}

// wanted reports whether run must make a connection. If not, run returns.
func (c *Client) wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = c.ctx.Err() == nil && (c.waiting > 0 || c.keeps() && c.stats.Connects > 0)
	return c.running
}

// keeps reports whether the server may call, so that there must always be a connection (R279,
// R292).
func (c *Client) keeps() bool { return c.cfg.Conn != nil && c.cfg.Conn.ReverseHandler != nil }

// waitBackoff waits for the time of the next attempt. It returns false if the Client was closed.
func (c *Client) waitBackoff() bool {
	c.mu.Lock()
	t := time.NewTimer(time.Until(c.next))
	c.mu.Unlock()
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// backOff sets the time of the next attempt and wakes the Calls that wait. It returns the pause.
// failures adds to DialFailures.
func (c *Client) backOff(why error, failures uint64) (pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pause = min(max(2*c.pause, c.cfg.MinBackoff), c.cfg.MaxBackoff); c.isProbing() {
		c.pause = c.cfg.MinBackoff
	}
	pause = c.pause - rand.N(c.pause/2+1)
	c.next = time.Now().Add(pause)
	c.failed = why
	c.stats.DialFailures += failures
	c.news()
	return pause
}

// dial makes a connection that Calls can use.
func (c *Client) dial() (*Conn, error) {
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if c.cfg.DialTimeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.cfg.DialTimeout)
	}
	defer cancel()
	conn, err := c.cfg.Dial(ctx, c.addr, c.connConfig())
	if err == nil && c.cfg.Connected != nil {
		if err = c.cfg.Connected(ctx, conn); err != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not connected within ClientConfig.DialTimeout (%v): %w", c.cfg.DialTimeout, err)
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// watch lets Calls use a connection until it ends or is idle. It reports whether the connection
// brought a reply, or was up to the end.
func (c *Client) watch(conn *Conn) (useful bool) {
	c.mu.Lock()
	c.conn, c.failed, c.users, c.used = conn, nil, 0, time.Now()
	c.stats.Connects++
	c.news()
	c.mu.Unlock()

	idle := time.NewTimer(c.cfg.IdleTimeout)
	defer idle.Stop()
	if c.cfg.IdleTimeout == 0 || c.keeps() {
		idle.Stop()
	}
	for ended := false; !ended; {
		select {
		case <-conn.Done():
			ended = true
		case <-c.ctx.Done():
			ended = true
		case <-idle.C:
			left := c.closeIdle()
			ended = left == 0
			idle.Reset(left)
		}
	}
	c.mu.Lock()
	c.served = c.served || !hasNotRun(conn.Err())
	if c.conn == conn { // else closeIdle has removed it
		c.conn = nil
		if c.ctx.Err() == nil {
			c.stats.Lost++
		}
	}
	c.mu.Unlock()
	useful = conn.answered() || conn.Err() == nil
	c.wg.Go(func() { _ = conn.Close() }) // which waits for its handlers
	return useful
}

// closeIdle removes the connection if it was idle for IdleTimeout. Otherwise it returns the time
// until the next check.
func (c *Client) closeIdle() (left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users > 0 {
		return c.cfg.IdleTimeout
	}
	if left := c.cfg.IdleTimeout - time.Since(c.used); left > 0 {
		return left
	}
	c.conn = nil
	c.stats.IdleCloses++
	return 0
}
