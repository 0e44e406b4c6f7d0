package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var errLost = errors.New("lost")

// givenClient returns a Client whose attempts to connect have these results. Further ones do not
// end.
func givenClient(t *testing.T, cfg ClientConfig, conns ...*Conn) *Client {
	t.Helper()
	c := clientOf(t, cfg)
	set := c.connections()
	set.Dial = func(ctx context.Context) (*Conn, error) {
		if len(conns) == 0 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		conn := conns[0]
		conns = conns[1:]
		c.reportCredits(conn)
		return conn, nil
	}
	c.pool = reconnect.New(set)
	return c
}

// A Client compares connections by their counts of credits and Calls. In version 2 there may be
// more credits than Calls (R169).
func TestVitalsOfAConnection(t *testing.T) {
	for _, tt := range []struct{ granted, calls, most int }{{4, 8, 4}, {20, 8, 8}} {
		conn, s := scriptedConn(t, 1, nil)
		conn.set.calls, s.stats.Granted, s.stats.Abandoned, s.stats.Received = tt.calls, tt.granted, 3, 7
		refresh(conn)
		want := machine.Vitals{Received: 7, Abandoned: 3, Most: tt.most}
		if got := conn.vitals(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		s.stats.Replies = 1
		if refresh(conn); !conn.vitals().Replied {
			t.Error("a connection with a reply has brought none")
		}
	}
}

// Every further attempt would fail like one that ended with a lasting error, but not like one that
// took too long. At a limit of the process, or without the device, no attempt is made just to
// receive the server's Calls.
func TestErrorsThatStopAttempts(t *testing.T) {
	for _, tt := range []struct {
		err                  error
		hopeless, disallowed bool
	}{
		{verbs.ErrConnectionRefused, false, false},
		{verbs.ErrInvalidValue, true, false},
		{fmt.Errorf("%w: %w", context.DeadlineExceeded, verbs.ErrConnectionRefused), false, false},
		{verbs.ErrProcessLimit, true, true},
		{verbs.ErrDeviceRemoved, true, true},
		{nil, false, false},
	} {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("dial: %w", err)
		}
		if hopeless(err) != tt.hopeless || disallowed(err) != tt.disallowed {
			t.Errorf("%v: hopeless %v, disallowed %v", err, hopeless(err), disallowed(err))
		}
	}
}

// The connections are made by the rules in the ClientConfig.
func TestClientConnectsByItsRules(t *testing.T) {
	c := clientOf(t, ClientConfig{
		Connections: 5, MinBackoff: 1, MaxBackoff: 2, DialFailures: 3, WaitForServer: true, IdleTimeout: 4, StuckTimeout: 6, DialTimeout: 7,
	})
	got := c.connections()
	if got.Connections != 5 || got.MinBackoff != 1 || got.MaxBackoff != 2 || got.DialFailures != 3 || !got.WaitForServer ||
		got.IdleTimeout != 4 || got.StuckTimeout != 6 || got.DialTimeout != 7 || got.Keeps || got.Connected != nil || got.Delayed != nil {
		t.Errorf("%+v", got)
	}
	c = clientOf(t, ClientConfig{Conn: &Config{ReverseHandler: HandlerFunc(func(*Request) {})}})
	if got := c.connections(); !got.Keeps || got.Connections != 1 || got.DialFailures != -1 {
		t.Errorf("with a ReverseHandler: keeps %v, %d connections, %d failures", got.Keeps, got.Connections, got.DialFailures)
	}
}

// With several connections, each reports when it has further credits, so that a Call that waits for
// one is served. With one connection it waits there. A handler of Events may call the Client.
func TestCallWaitsForACredit(t *testing.T) {
	for _, most := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var c *Client
			var delayed []uint64
			cfg := &Config{Events: func(e Event) {
				if hit, ok := e.(*LimitHit); !ok || hit.Limit != LimitCredits {
					t.Errorf("event %+v", e)
				}
				delayed = append(delayed, c.Stats().DelayedCalls)
			}}
			conn, s := scriptedConn(t, 1, nil)
			conn.closing.Do(func() {}) // the test frees it
			conn.set.calls, s.credits = 9, 1
			refresh(conn)
			c = givenClient(t, ClientConfig{Connections: most, Conn: cfg}, conn)
			for range 2 {
				go func() {
					if got, err := c.pool.Acquire(context.Background(), false); got != conn || err != nil {
						t.Errorf("a Call has %v, %v", got, err)
					}
				}()
				synctest.Wait()
			}
			if calls, waiting := c.pool.Load(); calls != 3-most || waiting != most-1 || len(delayed) != most-1 || most > 1 && delayed[0] != 1 {
				t.Errorf("%d connections: %d Calls, %d wait, events at %v delayed Calls", most, calls, waiting, delayed)
			}
			s.credits = 2
			refresh(conn)
			if synctest.Wait(); most == 1 != (conn.onCredits.Load() == nil) {
				t.Errorf("%d connections: the connection reports its credits %v", most, most == 1)
			}
			if calls, _ := c.pool.Load(); calls != 2 {
				t.Errorf("%d connections: %d Calls after a further credit, want 2", most, calls)
			}
			conn.caller.slots.allow(0)
		})
	}
}

// A Client learns from a connection that is lost, and then connects at once with the other version.
func TestClientLearnsFromALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, _ := scriptedConn(t, 1, nil)
		next, _ := scriptedConn(t, 1, nil)
		for _, conn := range []*Conn{lost, next} {
			conn.closing.Do(func() {})
			conn.set.Versions = []int{2, 1} // the server has refused version 2
		}
		c := givenClient(t, ClientConfig{MinBackoff: time.Hour, MaxBackoff: time.Hour, Conn: &Config{Versions: []int{2, 1}}}, lost, next)
		if _, err := c.pool.Acquire(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		lost.cancel(errLost)
		if conn, err := c.pool.Acquire(t.Context(), false); conn != next || err != nil || time.Since(start) != 0 {
			t.Errorf("%v, %v after %v, want the next connection at once", conn, err, time.Since(start))
		}
		if s := c.Stats(); s.Lost != 1 || s.VersionChanges != 1 || s.DialFailures != 0 || c.versions.begin() != 1 {
			t.Errorf("%+v, connections begin with version %d", s, c.versions.begin())
		}
	})
}

// A Client learns from a Call of Connected that the server refuses, and connects at once with the
// other version.
func TestClientLearnsFromConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conns []*Conn
		for range 2 {
			conn, _ := scriptedConn(t, 1, nil)
			conn.closing.Do(func() {})
			conns = append(conns, conn)
		}
		c := givenClient(t, ClientConfig{
			MinBackoff: time.Hour, MaxBackoff: time.Hour, Conn: &Config{Versions: []int{1, 2}},
			Connected: func(_ context.Context, conn *Conn) error {
				if conn == conns[1] {
					return nil
				}
				return &PeerError{Version: 1, Code: PeerErrVers, Low: 2, High: 2}
			},
		}, conns...)
		start := time.Now()
		if conn, err := c.pool.Acquire(t.Context(), false); conn != conns[1] || err != nil || time.Since(start) != 0 || c.versions.begin() != 2 {
			t.Errorf("%v, %v after %v, connections begin with version %d", conn, err, time.Since(start), c.versions.begin())
		}
	})
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

// The Client makes one attempt to connect at a time, and each is cancelled after DialTimeout. Close
// cancels the attempt and fails the Calls that wait for it.
func TestOneAttemptAtATime(t *testing.T) {
	for _, tt := range []struct{ timeout, want time.Duration }{{0, 10 * time.Second}, {time.Minute, time.Minute}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			dev, err := mem.New(nil).Open("client", nil)
			if err != nil {
				t.Fatal(err)
			}
			d := &dialing{Device: dev}
			c, err := NewClient(d, "server:1", &ClientConfig{DialTimeout: tt.timeout, Connections: 3})
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 3)
			for range cap(failed) {
				go func() {
					_, err := c.pool.Acquire(context.Background(), false)
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
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
