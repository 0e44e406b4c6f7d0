package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// waiting is a Call that waits for a connection of a Client.
type waiting struct {
	c      *Client
	cancel context.CancelFunc
	link   *link
	err    error
	over   chan struct{}
}

// waitingCall starts a Call that waits. Nothing connects.
func waitingCall(t *testing.T, c *Client) *waiting {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{c: c, cancel: cancel, over: make(chan struct{})}
	c.running = true
	go func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.link, w.err = c.wait(ctx)
		close(w.over)
	}()
	synctest.Wait()
	return w
}

// change changes the Client under its lock and reports whether the Call has returned then.
func (w *waiting) change(f func(c *Client)) bool {
	w.c.mu.Lock()
	f(w.c)
	w.c.news()
	w.c.mu.Unlock()
	return w.returned()
}

func (w *waiting) returned() bool {
	synctest.Wait()
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// upLink returns a connection that is up until the test ends. It takes Calls if it is the only one.
func upLink(t *testing.T) *link { return &link{conn: &Conn{host: host{ctx: t.Context()}}} }

// restingClient returns a Client that the test changes directly.
func restingClient(t *testing.T, cfg ClientConfig) (*Client, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	return &Client{ctx: ctx, cancel: cancel, cfg: cfg, changed: make(chan struct{}), links: links{most: 1}}, cancel
}

// A connection that a Call gets is not lost, even if the context of the Call or the Client ends at
// the same time.
func TestWaitEndsWithConnection(t *testing.T) {
	for range 20 { // the Call sees one or the other first
		synctest.Test(t, func(t *testing.T) {
			c, end := restingClient(t, ClientConfig{DialFailures: -1})
			defer end()
			up := upLink(t)
			w := waitingCall(t, c)
			if !w.change(func(c *Client) {
				c.links.all = append(c.links.all, up)
				c.links.serve()
				w.cancel()
			}) || w.link != up || w.err != nil || up.users != 1 {
				t.Errorf("a connection comes with the end of the context: %v, %v, %d users", w.link, w.err, up.users)
			}
			c.links.all, c.failed = nil, nil
			w = waitingCall(t, c)
			if !w.change(func(c *Client) {
				c.links.all = append(c.links.all, up)
				c.links.serve()
				end()
			}) || w.err != ErrClosed || up.users != 1 {
				t.Errorf("a connection comes with Close: %v, %d users", w.err, up.users)
			}
		})
	}
}

// If the context of a waiting Call ends, the Call leaves the queue, and its error names the
// resource that it waited for. Only a wait for a credit counts as a delay.
func TestWaitEndsWithContext(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name    string
		up      bool
		failed  error
		says    string
		delayed uint64
	}{
		{"connecting", false, nil, "", 0},
		{"after a failure", false, refused, "with no connection: refused", 0},
		{"for a credit", true, nil, "waited for a credit; the Calls of 1 connections", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, end := restingClient(t, ClientConfig{DialFailures: -1})
			defer end()
			c.links.most = 2
			if c.failed = tt.failed; tt.up {
				l := upLink(t) // it has no credits
				conn, _ := scriptedConn(t, 1, nil)
				l.conn = conn
				c.links.all = append(c.links.all, l)
			}
			w := waitingCall(t, c)
			if w.cancel(); !w.returned() || !errors.Is(w.err, context.Canceled) || !strings.Contains(w.err.Error(), tt.says) || tt.says == "" && w.err != context.Canceled {
				t.Errorf("%s: %v, want that it says %q", tt.name, w.err, tt.says)
			}
			if len(c.links.queue) != 0 || c.stats.DelayedCalls != tt.delayed {
				t.Errorf("%s: %d in the queue, %d delayed, want 0 and %d", tt.name, len(c.links.queue), c.stats.DelayedCalls, tt.delayed)
			}
		})
	}
}

// A Call waits through as many failures as DialFailures says, counted since it waits. A failure
// that would come each time ends it at once.
func TestWaitsThroughFailures(t *testing.T) {
	refused := errors.New("refused")
	fail := func(err error) func(c *Client) { return func(c *Client) { c.failures++; c.failed = err } }
	synctest.Test(t, func(t *testing.T) {
		c, end := restingClient(t, ClientConfig{DialFailures: 2})
		defer end()
		c.first = backoff{next: time.Now().Add(time.Hour)}
		c.failures, c.failed = 5, verbs.ErrInvalidValue // before this Call
		w := waitingCall(t, c)
		for n := range 3 {
			if w.returned() {
				t.Fatalf("the Call failed after %d failures of 2: %v", n, w.err)
			}
			w.change(fail(refused))
		}
		if !w.returned() || w.err != refused {
			t.Errorf("after three failures: %v, want %v", w.err, refused)
		}
		w = waitingCall(t, c)
		if !w.change(fail(verbs.ErrInvalidValue)) || w.err != verbs.ErrInvalidValue {
			t.Errorf("after a failure that comes each time: %v", w.err)
		}
		w = waitingCall(t, c)
		slow := fmt.Errorf("%w: %w", context.DeadlineExceeded, refused)
		if w.change(fail(slow)) {
			t.Errorf("after an attempt that took too long: %v", w.err)
		}
		end()
		w.change(func(*Client) {})
	})
}

// A Call that waits through no failure fails during a pause, with the reason for the pause, but not
// before it is known whether there must be one.
func TestNoWaitDuringPause(t *testing.T) {
	refused := errors.New("refused")
	synctest.Test(t, func(t *testing.T) {
		c, end := restingClient(t, ClientConfig{DialFailures: 0})
		defer end()
		c.failed, c.watchers = refused, 1
		c.first = backoff{next: time.Now().Add(time.Hour)}
		w := waitingCall(t, c)
		if w.returned() {
			t.Errorf("it failed while the end of a connection is looked into: %v", w.err)
		}
		if !w.change(func(c *Client) { c.watchers = 0 }) || w.err != refused {
			t.Errorf("during a pause: %v, want %v", w.err, refused)
		}
		c.first = backoff{}
		w = waitingCall(t, c)
		if w.returned() {
			t.Errorf("it failed although there is no pause: %v", w.err)
		}
		if !w.change(func(c *Client) { c.failures++ }) || w.err != refused {
			t.Errorf("after the first failure: %v, want %v", w.err, refused)
		}
	})
}

// A Call that finds others on its connection makes the Client want a further one, if it may have
// one. Calls are counted out, and the last one begins the idle time.
func TestAcquireAndRelease(t *testing.T) {
	for most, wants := range map[int]bool{1: false, 2: true} {
		synctest.Test(t, func(t *testing.T) {
			c, end := restingClient(t, ClientConfig{})
			c.running = true // nothing connects
			conn, s := scriptedConn(t, 1, nil)
			conn.set.calls, s.credits = 9, 9
			refresh(conn)
			l := &link{conn: conn}
			c.links.most, c.links.all = most, []*link{l}
			for users := 1; users <= 2; users++ {
				got, err := c.acquire(context.Background())
				if err != nil || got != conn || l.users != users {
					t.Errorf("%v, %v, %d users, want %d", got, err, l.users, users)
				}
				if want := wants && users > 1; c.further != want {
					t.Errorf("Connections %d, %d Calls: a further connection is wanted %v, want %v", most, users, c.further, want)
				}
			}
			time.Sleep(time.Second)
			c.release(conn)
			if c.release(&Conn{}); l.users != 1 || !l.used.IsZero() {
				t.Errorf("%d users, idle since %v, want 1 that is in use", l.users, l.used)
			}
			time.Sleep(time.Second)
			if c.release(conn); l.users != 0 || !l.used.Equal(time.Now()) {
				t.Errorf("%d users, idle since %v, want none since now", l.users, l.used)
			}
			end()
			if got, err := c.acquire(context.Background()); got != nil || err != ErrClosed || l.users != 0 {
				t.Errorf("after Close: %v, %v, %d users", got, err, l.users)
			}
		})
	}
}
