package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// acquire implements source.
func (c *Client) acquire(ctx context.Context) (*Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	l := c.links.take()
	if l == nil {
		var err error
		if l, err = c.wait(ctx); err != nil {
			return nil, err
		}
	}
	if l.users > 1 && len(c.links.all) < c.links.most {
		c.further = true
		c.start()
	}
	return l.conn, nil
}

// wait waits until a Call can have a connection. mu is locked, and unlocked meanwhile.
func (c *Client) wait(ctx context.Context) (*link, error) {
	w := c.links.wait()
	defer c.links.leave(w)
	if c.links.isUp() {
		c.delayed()
	}
	for w.failures = c.failures; ; {
		up := c.links.isUp()
		switch {
		case c.ctx.Err() != nil:
			if w.link != nil {
				c.free(w.link)
			}
			return nil, ErrClosed
		case w.link != nil:
			return w.link, nil
		case ctx.Err() != nil && up:
			return nil, c.links.waited(ctx.Err())
		case ctx.Err() != nil && c.failed == nil:
			return nil, ctx.Err()
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w with no connection: %w", ctx.Err(), c.failed)
		case up:
		case c.givesUp(w):
			return nil, c.failed
		case c.cfg.DialFailures == 0 && c.watchers == 0 && c.first.isPausing():
			return nil, c.failed
		}
		c.start()
		news := c.changed
		c.mu.Unlock()
		select {
		case <-w.ready:
		case <-news:
		case <-ctx.Done():
		}
		c.mu.Lock()
	}
}

// givesUp reports whether a waiting Call fails with the last attempt to connect. mu must be held.
func (c *Client) givesUp(w *waiter) bool {
	failures := c.failures - w.failures
	return !c.links.isUp() && failures > 0 && (hopeless(c.failed) || failures > c.patience())
}

// delayed counts and reports a Call that waits for a credit of any connection.
func (c *Client) delayed() {
	c.stats.DelayedCalls++
	if events := c.events(); events != nil {
		c.mu.Unlock()
		defer c.mu.Lock()
		events(&LimitHit{Limit: LimitCredits})
	}
}

// hopeless reports whether every further attempt to connect would fail as one did. An attempt that
// took longer than ClientConfig.DialTimeout is not hopeless.
func hopeless(err error) bool {
	return lasting(err) && !errors.Is(err, context.DeadlineExceeded)
}

// patience returns the number of failed attempts through which a Call waits. mu must be held.
func (c *Client) patience() uint64 {
	switch {
	case c.cfg.DialFailures >= 0:
		return uint64(c.cfg.DialFailures)
	case c.isUntried():
		return 0
	}
	return math.MaxUint64
}

// isUntried reports whether the address may be wrong, so that each Call has an attempt to connect
// of its own and its error. mu must be held.
func (c *Client) isUntried() bool {
	return c.cfg.DialFailures < 0 && c.stats.Connects == 0 && !c.cfg.WaitForServer
}

// release implements source.
func (c *Client) release(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.links.of(conn); l != nil { // else the Client has dropped it
		c.free(l)
	}
}

// free ends a Call on a connection, which may serve a waiting one. mu is locked.
func (c *Client) free(l *link) {
	if l.users--; l.users == 0 {
		l.used = time.Now()
	}
	c.links.serve()
}

// creditsChanged is called when a connection may have more free credits.
func (c *Client) creditsChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links.serve()
}

// news makes the Calls that wait look at the state again. mu is locked.
func (c *Client) news() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// start starts run if a connection is wanted. mu is locked.
func (c *Client) start() {
	if !c.running && c.wanted() {
		c.running = true
		c.wg.Add(1)
		go c.run()
	}
}

// run makes connections, one after the other, while they are wanted.
func (c *Client) run() {
	defer c.wg.Done()
	for c.goesOn() {
		if !c.waitBackoff() {
			continue
		}
		conn, err := c.dial()
		if err == nil {
			c.add(conn)
			continue
		}
		c.failedToConnect(err)
	}
}

// failedToConnect begins the pause after a failed attempt to connect, and logs the attempt unless
// Close has ended it.
func (c *Client) failedToConnect(err error) {
	c.mu.Lock()
	further := c.links.isUp()
	if !c.concluded(err, further) {
		c.mu.Unlock()
		return
	}
	c.stats.DialFailures++
	c.inRow++
	b := &c.more
	if !further {
		b = &c.first
		c.failures++
	}
	inRow, pause := c.inRow, max(time.Until(b.next), 0)
	c.mu.Unlock() // the logger may call the Client
	if c.ctx.Err() == nil {
		c.log.Warn("rdmaio: an attempt to connect failed", "server", c.addr, "failures", inRow, "reason", err, "pause", pause)
	}
}

// goesOn reports whether run must make a connection. If not, run returns.
func (c *Client) goesOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = c.wanted()
	return c.running
}

// wanted reports whether the Client should have one connection more. While it is not known whether
// one that ended was useful, there is no attempt. mu is locked.
func (c *Client) wanted() bool {
	n := len(c.links.all)
	if c.ctx.Err() != nil || n == c.links.most || n < c.watchers {
		return false
	}
	for _, l := range c.links.all {
		if !l.isUp() {
			return false // its watcher calls start
		}
	}
	// A Call that has given up is in the queue until its goroutine runs.
	waits := slices.ContainsFunc(c.links.queue, func(w *waiter) bool { return !c.givesUp(w) })
	return waits || c.further || n == 0 && c.keeps() && c.stats.Connects > 0 && !disallowed(c.failed)
}

// disallowed reports whether this process or its device does not allow a connection. Attempts for
// the server's Calls are then in vain, and the next Call tries again.
func disallowed(err error) bool {
	return errors.Is(err, verbs.ErrProcessLimit) || errors.Is(err, verbs.ErrDeviceRemoved)
}

// concluded begins a pause after an attempt to connect that failed, or after a connection that
// ended, with the reason why, and reports whether it did. why is nil if the connection was useful:
// then there is no pause. further says which attempts pause: those while other connections are up,
// or all others. mu is locked.
func (c *Client) concluded(why error, further bool) (pauses bool) {
	defer c.news()
	c.further = false
	turned := c.versions.takeFresh() && !c.turned
	switch c.turned = turned; {
	case why == nil:
		c.first = backoff{}
		if further {
			c.more = backoff{}
		}
		return false
	case turned: // with another version, at once
		return false
	case further:
		c.more.pause(&c.cfg)
	default:
		if c.isUntried() {
			c.first = backoff{}
		}
		c.first.pause(&c.cfg)
		c.failed = why
	}
	return true
}

// Reasons for a pause after a connection that was made.
var (
	errUseless = errors.New("rdmaio: the connection before this one ended without a reply")
	errShort   = errors.New("rdmaio: the connection before this one ended soon")
)

// backoff is the pauses between attempts to connect. The zero backoff has none.
type backoff struct {
	last time.Duration // the last pause
	next time.Time     // its end
}

// pause begins a pause that is twice as long as the last.
func (b *backoff) pause(cfg *ClientConfig) {
	b.last = min(max(2*b.last, cfg.MinBackoff), cfg.MaxBackoff)
	b.next = time.Now().Add(b.last - rand.N(b.last/2+1))
}

// isPausing reports whether the pause is not over.
func (b *backoff) isPausing() bool { return time.Now().Before(b.next) }

// keeps reports whether the server may call, so that there must always be a connection (R279,
// R292).
func (c *Client) keeps() bool { return c.cfg.Conn != nil && c.cfg.Conn.ReverseHandler != nil }

// waitBackoff reports whether there is no pause. Otherwise it waits for its end or until something
// has changed: there may be no need for a connection any more.
func (c *Client) waitBackoff() bool {
	c.mu.Lock()
	b := &c.first
	if c.links.isUp() {
		b = &c.more
	}
	left, news := time.Until(b.next), c.changed
	c.mu.Unlock()
	if left <= 0 {
		return true
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
	case <-news:
	case <-c.ctx.Done():
	}
	return false
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

// add lets Calls use a connection until it ends.
func (c *Client) add(conn *Conn) {
	l := &link{conn: conn}
	if c.links.most > 1 {
		f := c.creditsChanged
		conn.onCredits.Store(&f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.further, l.useful = c.links.isUp(), c.links.useful
	c.links.all = append(c.links.all, l)
	c.failed, c.further, c.inRow = nil, false, 0
	c.stats.Connects++
	c.links.serve()
	c.watchers++
	c.wg.Add(1)
	go c.watch(l)
}

// watch waits until a connection ends, is stuck or is idle, and then closes it.
func (c *Client) watch(l *link) {
	defer c.wg.Done()
	conn, start := l.conn, time.Now()
	wasIdle := c.outlast(l)
	c.learnFrom(conn, conn.Err())
	c.mu.Lock()
	if c.links.drop(l) && c.ctx.Err() == nil { // else the Client has ended it
		c.stats.Lost++
	}
	c.concluded(c.judge(l, wasIdle, time.Since(start)), l.further)
	c.watchers--
	c.start()
	c.mu.Unlock()
	if err := conn.Close(); err != nil { // waits for handlers of reverse Calls, maybe long
		c.mu.Lock()
		c.closeErr = errors.Join(c.closeErr, err)
		c.mu.Unlock()
	}
}

// judge returns why there must be a pause after a connection that ended, or nil if it was useful. A
// first connection without a reply is useful, too, if others have brought one since it was made. mu
// is locked.
func (c *Client) judge(l *link, wasIdle bool, lasted time.Duration) (why error) {
	useful := wasIdle || l.isUseful()
	if useful {
		c.links.useful++
	}
	if !l.further {
		useful = useful || c.links.useful != l.useful || slices.ContainsFunc(c.links.all, (*link).isUseful)
	}
	switch {
	case !useful:
		why = errUseless
	case c.keeps() && lasted < max(c.first.last, c.cfg.MinBackoff):
		why = errShort // it is replaced although no Call waits
	}
	if cause := l.conn.Err(); why != nil && cause != nil {
		why = fmt.Errorf("%w: %w", why, cause)
	}
	return why
}

// outlast returns when a connection has ended, or the Client has dropped it. It reports whether the
// connection was idle.
func (c *Client) outlast(l *link) (wasIdle bool) {
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
	for {
		select {
		case <-look.C:
			if s := l.conn.Stats(); stuck.look(&s, l.conn.set.calls) {
				c.giveUp(l, &c.stats.Stuck)
				return false
			}
		case <-l.conn.Done():
			return false
		case <-c.ctx.Done():
			return false
		case <-idle.C:
			left := c.closeIdle(l)
			if left == 0 {
				return true
			}
			idle.Reset(left)
		}
	}
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

// giveUp drops a connection and increments count.
func (c *Client) giveUp(l *link, count *uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links.drop(l) {
		*count++
	}
}

// closeIdle drops a connection if it was idle for IdleTimeout. Otherwise it returns the time until
// the next check.
func (c *Client) closeIdle(l *link) (left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.users > 0 {
		return c.cfg.IdleTimeout
	}
	if left := c.cfg.IdleTimeout - time.Since(l.used); left > 0 {
		return left
	}
	if c.links.drop(l) {
		c.stats.IdleCloses++
	}
	return 0
}
