package rdmaio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var errLost = errors.New("lost")

// keepingConfig returns the Config for a server that may call.
func keepingConfig() *Config { return &Config{ReverseHandler: HandlerFunc(func(*Request) {})} }

// endedLink returns a connection that has ended.
func endedLink() *link {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errLost)
	return &link{conn: &Conn{host: host{ctx: ctx}}}
}

// A connection more is wanted for Calls that wait, for a Call that found others, and for a server
// that may call, never beyond Connections, and not while the end of one is looked into.
func TestConnectionIsWanted(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		up, ended, most      int
		watchers             int
		waits, further, keep bool
		connects             uint64
		closed, want         bool
		failed               error
	}{
		{name: "no Call", most: 1},
		{name: "a Call waits", most: 1, waits: true, want: true},
		{name: "a Call waits for a credit", most: 2, up: 1, watchers: 1, waits: true, want: true},
		{name: "a Call found others", most: 2, up: 1, watchers: 1, further: true, want: true},
		{name: "all connections are there", most: 2, up: 2, watchers: 2, waits: true, further: true},
		{name: "one has ended", most: 3, up: 1, ended: 1, watchers: 2, waits: true},
		{name: "one that ended is looked into", most: 3, up: 1, watchers: 2, waits: true},
		{name: "the server may call", most: 2, keep: true, connects: 1, want: true},
		{name: "the server has a connection to call", most: 2, up: 1, watchers: 1, keep: true, connects: 1},
		{name: "no Call has made a connection", most: 2, keep: true},
		{name: "a connection was made, and no Call waits", most: 2, connects: 1},
		{name: "the server may call, and was away", most: 2, keep: true, connects: 1, failed: verbs.ErrConnectionRefused, want: true},
		{name: "the server may call, at a limit of the process", most: 2, keep: true, connects: 1, failed: fmt.Errorf("dial: %w", verbs.ErrProcessLimit)},
		{name: "the server may call, and the device is gone", most: 2, keep: true, connects: 1, failed: verbs.ErrDeviceRemoved},
		{name: "a Call waits at a limit of the process", most: 1, keep: true, connects: 1, waits: true, failed: verbs.ErrProcessLimit, want: true},
		{name: "closed", most: 1, waits: true, closed: true},
		{name: "closed, and the server may call", most: 1, keep: true, connects: 1, closed: true},
	} {
		c, end := restingClient(t, ClientConfig{})
		c.links.most, c.watchers, c.further, c.stats.Connects = tt.most, tt.watchers, tt.further, tt.connects
		for range tt.up {
			c.links.all = append(c.links.all, upLink(t))
		}
		for range tt.ended {
			c.links.all = append(c.links.all, endedLink())
		}
		if tt.waits {
			c.links.wait()
		}
		if c.failed = tt.failed; tt.keep {
			c.cfg.Conn = keepingConfig()
		}
		if tt.closed {
			end()
		}
		if got := c.wanted(); got != tt.want {
			t.Errorf("%s: a connection is wanted %v, want %v", tt.name, got, tt.want)
		}
		c.running = true
		if got := c.goesOn(); got != tt.want || c.running != tt.want {
			t.Errorf("%s: run goes on %v and counts as running %v, want %v", tt.name, got, c.running, tt.want)
		}
		end()
	}
}

// Attempts that fail while a connection is up and those while none is have counts and pauses of
// their own, and the record has the pause that follows. Calls that wait hear of each.
func TestFailuresAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c, end := restingClient(t, ClientConfig{MinBackoff: time.Second, MaxBackoff: 3 * time.Second})
		defer end()
		c.log, c.links.most = slog.New(slog.NewTextHandler(&out, nil)), 2
		up := upLink(t)
		fails := func(further bool) {
			t.Helper()
			out.Reset()
			news := c.changed
			if c.further, c.links.all = true, nil; further {
				c.links.all = append(c.links.all, up)
			}
			c.failedToConnect(errLost)
			select {
			case <-news:
			default:
				t.Error("Calls that wait do not hear of it")
			}
			if c.further || strings.Contains(out.String(), "pause=0s") || !strings.Contains(out.String(), "pause=") {
				t.Errorf("a further connection is still wanted %v, the record is %q", c.further, out.String())
			}
		}
		state := func(all, inRow int, failures uint64, first, more time.Duration, failed error) {
			t.Helper()
			if c.stats.DialFailures != uint64(all) || c.inRow != inRow || c.failures != failures || c.first.last != first || c.more.last != more || c.failed != failed {
				t.Errorf("%d failures, %d in a row, %d for Calls, pauses %v and %v, failed with %v, want %d, %d, %d, %v, %v, %v",
					c.stats.DialFailures, c.inRow, c.failures, c.first.last, c.more.last, c.failed, all, inRow, failures, first, more, failed)
			}
		}
		fails(true)
		state(1, 1, 0, 0, time.Second, nil)
		time.Sleep(time.Minute)
		fails(false)
		state(2, 2, 1, time.Second, time.Second, errLost)
		time.Sleep(time.Minute)
		fails(false)
		fails(true)
		state(4, 4, 2, 2*time.Second, 2*time.Second, errLost)
		fails(true)
		state(5, 5, 2, 2*time.Second, 3*time.Second, errLost)
		if c.concluded(nil, false) || c.first != (backoff{}) || c.more.last == 0 {
			t.Errorf("a useful first connection leaves pauses of %v and %v", c.first, c.more)
		}
		c.first = backoff{last: time.Second}
		if c.concluded(nil, true) || c.first != (backoff{}) || c.more != (backoff{}) {
			t.Errorf("a useful further connection leaves pauses of %v and %v", c.first, c.more)
		}
	})
}

// After an attempt that has taught another version the next one follows at once, but not twice in a
// row.
func TestTurnsOnceWithoutPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := restingClient(t, ClientConfig{MinBackoff: time.Second, MaxBackoff: time.Minute})
		defer end()
		for i, tt := range []struct{ fresh, pauses bool }{
			{true, false}, {true, true}, {true, false}, {false, true}, {true, false}, {true, true}, {false, true},
		} {
			if c.versions.fresh = tt.fresh; c.concluded(errLost, false) != tt.pauses {
				t.Errorf("attempt %d: there is a pause %v, want %v", i, !tt.pauses, tt.pauses)
			}
		}
	})
}

// A connection was useful if it has brought a reply, or was idle, or, as the first one, if others
// have brought a reply since. One that the server may need is short if it ends within its pause.
func TestUsefulAndShortConnectionsAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name           string
		idle, replies  bool
		further        bool
		since          bool // others that were useful have ended since it was made
		up             bool // another one is up that was useful
		keeps, lasting bool
		want           error
	}{
		{name: "no reply", want: errUseless},
		{name: "a reply", replies: true},
		{name: "idle", idle: true},
		{name: "others have ended", since: true},
		{name: "another is up", up: true},
		{name: "a further one, others have ended", further: true, since: true, want: errUseless},
		{name: "a further one, another is up", further: true, up: true, want: errUseless},
		{name: "a further one with a reply", further: true, replies: true},
		{name: "short", replies: true, keeps: true, want: errShort},
		{name: "not short", replies: true, keeps: true, lasting: true},
		{name: "useless and not short", keeps: true, lasting: true, want: errUseless},
	} {
		c, end := restingClient(t, ClientConfig{MinBackoff: time.Second})
		if tt.keeps {
			c.cfg.Conn = keepingConfig()
		}
		conn, s := scriptedConn(t, 1, nil)
		if tt.replies {
			s.stats.Replies = 1
			refresh(conn)
		}
		l := &link{conn: conn, further: tt.further, useful: 3}
		if c.links.useful = 3; tt.since {
			c.links.useful++
		}
		if tt.up {
			other, s := scriptedConn(t, 1, nil)
			s.stats.Replies = 1
			refresh(other)
			c.links.all = append(c.links.all, &link{conn: other})
		}
		before := c.links.useful
		for last, least := range map[time.Duration]time.Duration{0: time.Second, 4 * time.Second: 4 * time.Second} {
			lasted := least - 1
			if tt.lasting {
				lasted = least
			}
			c.first.last, c.links.useful = last, before
			why := c.judge(l, tt.idle, lasted)
			if !errors.Is(why, tt.want) || tt.want == nil && why != nil {
				t.Errorf("%s, after %v: %v, want %v", tt.name, lasted, why, tt.want)
			}
			if own := tt.idle || tt.replies; (c.links.useful != before) != own {
				t.Errorf("%s: it counts as useful for others %v, want %v", tt.name, c.links.useful != before, own)
			}
		}
		if l.conn.cancel(errLost); tt.want != nil && !errors.Is(c.judge(l, tt.idle, 0), errLost) {
			t.Errorf("%s: the reason for the pause does not say why it ended", tt.name)
		}
		end()
	}
}

// idleLink returns a connection of a script that a Client has.
func idleLink(t *testing.T, c *Client) (*link, *script) {
	t.Helper()
	conn, s := scriptedConn(t, 1, nil)
	conn.set.calls = 9
	l := &link{conn: conn, used: time.Now()}
	c.links.all = append(c.links.all, l)
	return l, s
}

// A connection is closed when it has had no Call for IdleTimeout, and given up when it was useless
// for StuckTimeout, each counted once. Without these limits it stays.
func TestWatchOutlasts(t *testing.T) {
	for _, tt := range []struct {
		name        string
		idle, stuck time.Duration
		users       bool
		keeps       bool
		useless     bool
		closed      bool          // Close, after 50 s
		after       time.Duration // when it is over; 0: after an hour, when it is lost
		wasIdle     bool
		stats       ClientStats
	}{
		{name: "no limits", useless: true},
		{name: "idle", idle: time.Minute, stuck: 4 * time.Second, after: 90 * time.Second, wasIdle: true, stats: ClientStats{IdleCloses: 1}},
		{name: "in use", idle: time.Minute, stuck: 4 * time.Second, users: true},
		{name: "the server may call", idle: time.Minute, keeps: true},
		{name: "useless", stuck: 4 * time.Second, idle: time.Minute, useless: true, after: 6 * time.Second, stats: ClientStats{Stuck: 1}},
		{name: "Close", closed: true, after: 50 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, end := restingClient(t, ClientConfig{IdleTimeout: tt.idle, StuckTimeout: tt.stuck})
			defer end()
			if tt.keeps {
				c.cfg.Conn = keepingConfig()
			}
			l, s := idleLink(t, c)
			if tt.users {
				l.users = 1
			}
			if tt.useless {
				s.stats.Granted, s.stats.Abandoned = 1, 1
			}
			refresh(l.conn)
			time.AfterFunc(30*time.Second, func() {
				c.mu.Lock()
				l.used = time.Now() // a Call came and went
				c.mu.Unlock()
			})
			if tt.closed {
				time.AfterFunc(50*time.Second, end)
			}
			lost := time.AfterFunc(time.Hour, func() { l.conn.cancel(errLost) })
			start, want := time.Now(), tt.after
			if want == 0 {
				want = time.Hour
			}
			wasIdle := c.outlast(l)
			if took := time.Since(start); wasIdle != tt.wasIdle || took != want {
				t.Errorf("%s: over after %v, idle %v, want %v and %v", tt.name, took, wasIdle, want, tt.wasIdle)
			}
			lost.Stop()
			synctest.Wait()
			// A link that was dropped before counts nothing.
			c.closeIdle(&link{conn: l.conn, used: l.used.Add(-time.Hour)})
			c.giveUp(&link{conn: l.conn}, &c.stats.Stuck)
			if c.stats != tt.stats || (len(c.links.all) == 0) != (tt.stats != ClientStats{}) {
				t.Errorf("%s: %+v, %d connections are left", tt.name, c.stats, len(c.links.all))
			}
			time.Sleep(time.Minute) // for the timer of the test
			synctest.Wait()
		})
	}
}

// Messages that came before a look do not count at the next.
func TestStallAfterMessages(t *testing.T) {
	var s stall
	now := Stats{Received: 7, Abandoned: 1}
	now.Granted = 8
	for look, want := range []bool{false, false, false, true} {
		if got := s.look(&now, 8); got != want {
			t.Errorf("at look %d useless is %v, want %v", look, got, want)
		}
	}
}

// dialing is a device on which no attempt to connect ends before its context.
type dialing struct {
	verbs.Device
	dials    atomic.Int32
	deadline atomic.Int64 // of the last attempt, from its begin
}

func (d *dialing) Dial(ctx context.Context, _ string, _ verbs.QueuePair, _ *verbs.ConnParams) (*verbs.ConnInfo, error) {
	d.dials.Add(1)
	d.deadline.Store(0)
	if at, ok := ctx.Deadline(); ok {
		d.deadline.Store(int64(time.Until(at)))
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// dialingClient returns a Client whose attempts do not end.
func dialingClient(t *testing.T, cfg ClientConfig) (*Client, *dialing) {
	t.Helper()
	dev, err := mem.New(nil).Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &dialing{Device: dev}
	c, err := NewClient(d, "server:1", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, d
}

// The Client makes one attempt to connect at a time, and each ends after DialTimeout. Close ends
// the attempt and the Calls that wait for it.
func TestOneAttemptAtATime(t *testing.T) {
	for _, tt := range []struct{ timeout, want time.Duration }{{0, 10 * time.Second}, {time.Minute, time.Minute}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			c, d := dialingClient(t, ClientConfig{DialTimeout: tt.timeout, Connections: 3})
			failed := make(chan error, 3)
			c.mu.Lock()
			for range cap(failed) {
				w := c.links.wait()
				defer c.links.leave(w)
				c.start()
			}
			c.mu.Unlock()
			for range cap(failed) {
				go func() {
					_, err := c.acquire(context.Background())
					failed <- err
				}()
			}
			synctest.Wait()
			if n, limit := d.dials.Load(), time.Duration(d.deadline.Load()); n != 1 || limit != tt.want {
				t.Errorf("%d attempts, with a limit of %v, want one with %v", n, limit, tt.want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			for range cap(failed) {
				if err := <-failed; err != ErrClosed {
					t.Errorf("a Call that waits at Close: %v, want %v", err, ErrClosed)
				}
			}
			if n := d.dials.Load(); n != 1 {
				t.Errorf("%d attempts after Close", n)
			}
		})
	}
}

// A new connection ends the failures before it, and serves a Call that waits. With several
// connections it also reports its credits.
func TestConnectionIsAdded(t *testing.T) {
	for _, most := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := dialingClient(t, ClientConfig{Connections: most, StuckTimeout: -1, IdleTimeout: -1})
			c.failed, c.further, c.inRow, c.links.useful = errLost, true, 3, 5
			w := c.links.wait()
			var conns []*Conn
			for i := range most {
				conn, s := scriptedConn(t, 1, nil)
				conn.closing.Do(func() {}) // the test frees it
				conn.set.calls, s.credits = 1, 1
				refresh(conn)
				c.further = true
				c.add(conn)
				conns = append(conns, conn)
				l := c.links.of(conn)
				if l == nil || l.further != (i > 0) || l.useful != 5 || c.watchers != i+1 {
					t.Fatalf("connection %d of %d: %+v, %d are watched", i, most, l, c.watchers)
				}
				if c.failed != nil || c.further || c.inRow != 0 || c.stats.Connects != uint64(i+1) {
					t.Errorf("connection %d of %d: failed with %v, further %v, %d in a row, %+v", i, most, c.failed, c.further, c.inRow, c.stats)
				}
				if (conn.onCredits.Load() != nil) != (most > 1) {
					t.Errorf("connection %d of %d reports its credits %v", i, most, most == 1)
				}
			}
			if w.link == nil || w.link.conn != conns[0] || w.link.users != 1 {
				t.Error("the Call that waits is not served")
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if c.watchers != 0 {
				t.Errorf("%d connections are watched after Close", c.watchers)
			}
		})
	}
}

// When a connection is lost, the Client learns from it, pauses as it has to, and then connects
// again for a server that may call.
func TestConnectionIsLost(t *testing.T) {
	for _, further := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := keepingConfig()
			cfg.Versions = []int{2, 1}
			c, d := dialingClient(t, ClientConfig{Connections: 2, StuckTimeout: -1, IdleTimeout: -1, Conn: cfg})
			var conns []*Conn
			for range 2 {
				conn, _ := scriptedConn(t, 1, nil)
				conn.closing.Do(func() {})
				c.add(conn)
				conns = append(conns, conn)
			}
			n := 0
			if further {
				n = 1
			}
			conns[n].cancel(errLost)
			synctest.Wait()
			if first, more := c.first.isPausing(), c.more.isPausing(); first == further || more != further {
				t.Errorf("further %v: there are pauses %v and %v", further, first, more)
			}
			if c.stats.Lost != 1 || c.watchers != 1 || d.dials.Load() != 0 {
				t.Errorf("further %v: %+v, %d are watched, %d attempts", further, c.stats, c.watchers, d.dials.Load())
			}
			conns[1-n].set.Versions = []int{2, 1} // lost after the server has refused version 2
			conns[1-n].cancel(errLost)
			time.Sleep(time.Second)
			synctest.Wait()
			if c.stats.Lost != 2 || c.stats.VersionChanges != 1 || c.watchers != 0 || d.dials.Load() != 1 {
				t.Errorf("further %v: %+v, %d are watched, %d attempts, want one", further, c.stats, c.watchers, d.dials.Load())
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Attempts while a connection is up wait for their own pause.
func TestPauseOfFurtherConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := restingClient(t, ClientConfig{})
		defer end()
		c.first.next = time.Now().Add(time.Hour)
		c.more.next = time.Now().Add(time.Minute)
		for up, want := range map[bool]time.Duration{false: time.Hour, true: time.Minute} {
			if c.links.all = nil; up {
				c.links.all = append(c.links.all, upLink(t))
			}
			c.first.next, c.more.next = time.Now().Add(time.Hour), time.Now().Add(time.Minute)
			start := time.Now()
			for !c.waitBackoff() {
			}
			if took := time.Since(start); took != want {
				t.Errorf("another is up %v: a pause of %v, want %v", up, took, want)
			}
		}
	})
}

// Close ends a Call that waits for the end of a pause.
func TestCloseDuringPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := dialingClient(t, ClientConfig{})
		c.first.next = time.Now().Add(time.Hour)
		failed := make(chan error)
		go func() {
			_, err := c.acquire(context.Background())
			failed <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; err != ErrClosed || time.Since(start) != 0 || d.dials.Load() != 0 {
			t.Errorf("the Call ended %v after Close with %v, and %d attempts", time.Since(start), err, d.dials.Load())
		}
	})
}

// A Call that fails with an attempt wants no further one, although its goroutine has not run yet.
func TestCallThatGaveUpWantsNoConnection(t *testing.T) {
	c, end := restingClient(t, ClientConfig{})
	defer end()
	c.links.most = 1
	c.links.wait()
	if !c.wanted() {
		t.Error("a Call waits, and no connection is wanted")
	}
	c.failures, c.failed = 1, ErrClosed
	if c.wanted() {
		t.Error("the Call has given up, and a connection is wanted")
	}
	// While a connection is up, failures to make a further one do not end a Call.
	c.links.most, c.watchers, c.links.all = 2, 1, []*link{upLink(t)}
	if c.givesUp(c.links.queue[0]) || !c.wanted() {
		t.Error("the Call gives up although a connection is up, and no further one is wanted")
	}
}

// A handler of Events may call the Client: it runs without the Client's lock.
func TestEventsMayCallTheClient(t *testing.T) {
	c, end := restingClient(t, ClientConfig{})
	defer end()
	var delayed []uint64
	c.cfg.Conn = &Config{Events: func(e Event) {
		if hit, ok := e.(*LimitHit); !ok || hit.Limit != LimitCredits {
			t.Errorf("event %+v", e)
		}
		if !c.mu.TryLock() {
			t.Error("the Client is locked")
			return
		}
		delayed = append(delayed, c.stats.DelayedCalls)
		c.mu.Unlock()
	}}
	c.mu.Lock()
	c.delayed()
	if c.mu.TryLock() {
		t.Error("the Client is no longer locked")
	}
	c.mu.Unlock()
	if len(delayed) != 1 || delayed[0] != 1 {
		t.Errorf("events at %v delayed Calls", delayed)
	}
}
