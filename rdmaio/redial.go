package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// acquire implements source.
func (c *Client) acquire(ctx context.Context) (*Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	failures := c.stats.DialFailures
	for {
		switch {
		case c.ctx.Err() != nil:
			return nil, ErrClosed
		case c.conn != nil && c.conn.Err() == nil:
			c.users++
			return c.conn, nil
		case ctx.Err() != nil:
			if c.failed == nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w with no connection: %w", ctx.Err(), c.failed)
		case c.stats.DialFailures > failures && (hopeless(c.failed) || c.refused() || c.stats.DialFailures-failures > uint64(c.cfg.DialFailures)):
			return nil, c.failed
		case c.cfg.DialFailures == 0 && time.Now().Before(c.next):
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

// hopeless reports whether every further attempt to connect would fail as one did. An attempt that
// took longer than ClientConfig.DialTimeout is not hopeless.
func hopeless(err error) bool {
	return lasting(err) && !errors.Is(err, context.DeadlineExceeded)
}

// refused reports whether ClientConfig.FailRefused ends the Calls that wait. mu is locked.
func (c *Client) refused() bool {
	return c.cfg.FailRefused && c.stats.Connects == 0 && errors.Is(c.failed, verbs.ErrConnectionRefused)
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

// news wakes the Calls that wait for a connection. mu is locked.
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
		start := time.Now()
		useful := err == nil && c.watch(conn)
		short := c.keeps() && time.Since(start) < max(c.pause, c.cfg.MinBackoff)
		turned := c.versions.takeFresh() && !c.turned
		switch c.turned = turned; {
		case useful && !short:
			c.pause = 0
		case turned: // with another version, at once
		case err != nil:
			c.backOff(err, 1)
		default:
			if err = errUseless; useful {
				err = errShort // it is replaced although no Call waits
			}
			if why := conn.Err(); why != nil {
				err = fmt.Errorf("%w: %w", err, why)
			}
			c.backOff(err, 0)
		}
	}
}

// Reasons for a pause after a connection that was made.
var (
	errUseless = errors.New("rdmaio: the connection before this one ended without a reply")
	errShort   = errors.New("rdmaio: the connection before this one ended soon")
)

// backOff sets the time of the next attempt and wakes the Calls that wait. failures adds to
// DialFailures.
func (c *Client) backOff(why error, failures uint64) {
	c.pause = min(max(2*c.pause, c.cfg.MinBackoff), c.cfg.MaxBackoff)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = time.Now().Add(c.pause - rand.N(c.pause/2+1))
	c.failed = why
	c.stats.DialFailures += failures
	c.news()
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

// dial makes a connection that Calls can use.
func (c *Client) dial() (*Conn, error) {
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if c.cfg.DialTimeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.cfg.DialTimeout)
	}
	defer cancel()
	conn, unanswered, err := dial(ctx, c.dev, c.addr, c.versions.config(c.cfg.Conn))
	if unanswered {
		c.learn(v1.Number, err)
	}
	if err != nil || c.cfg.Connected == nil {
		return conn, err
	}
	if err = c.cfg.Connected(ctx, conn); err != nil {
		c.learnFrom(conn, err)
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// watch lets Calls use a connection until it ends, is stuck or is idle. It reports whether the
// connection brought a reply, or was idle.
func (c *Client) watch(conn *Conn) bool {
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
	look := &time.Ticker{} // when to check whether it is stuck
	if c.cfg.StuckTimeout > 0 {
		look = time.NewTicker(max(c.cfg.StuckTimeout/2, 1))
		defer look.Stop()
	}
	var stuck stall
	useful, ended := false, false
	for !ended {
		select {
		case <-look.C:
			if s := conn.Stats(); stuck.look(&s, conn.set.calls) {
				ended = c.giveUp(&c.stats.Stuck)
			}
		case <-conn.Done():
			ended = true
		case <-c.ctx.Done():
			ended = true
		case <-idle.C:
			left := c.closeIdle()
			ended = left == 0
			useful = ended
			idle.Reset(left)
		}
	}
	c.mu.Lock()
	if c.conn == conn { // else giveUp or closeIdle has removed it
		c.conn = nil
		if c.ctx.Err() == nil {
			c.stats.Lost++
		}
	}
	c.mu.Unlock()
	c.learnFrom(conn, conn.Err())
	useful = useful || conn.Stats().Replies > 0
	c.wg.Add(1)
	go func() { // Close waits for handlers of reverse Calls, which may take long
		defer c.wg.Done()
		if err := conn.Close(); err != nil {
			c.mu.Lock()
			c.closeErr = errors.Join(c.closeErr, err)
			c.mu.Unlock()
		}
	}()
	return useful
}

// stall finds out whether a connection has become useless. Its method look is called every half
// StuckTimeout.
type stall struct {
	received uint64 // messages, at the last look
	times    int    // in a row that it looked useless
}

// look reports whether a connection has been useless for StuckTimeout: cancelled Calls have no
// reply, and either there are as many as credits, or as this side may have in progress, or nothing
// at all has come from the peer. In version 2 the credits are for all messages, and may be more.
func (s *stall) look(now *Stats, most int) bool {
	silent := now.Received == s.received
	s.received = now.Received
	if now.Abandoned == 0 || now.Abandoned < min(now.Granted, most) && !silent {
		s.times = 0
		return false
	}
	s.times++
	return s.times > 2
}

// giveUp removes the connection and increments count.
func (c *Client) giveUp(count *uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = nil
	*count++
	return true
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
