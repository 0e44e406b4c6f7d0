package backchannel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/backchannel"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// conn is a connection that is up unless it has an error.
type conn struct {
	allowed bool
	err     error
}

func (c *conn) AllowReverse() { c.allowed = true }
func (c *conn) Err() error    { return c.err }

// The connection bound last of those that are up is the one to use.
func TestLatest(t *testing.T) {
	conns := backchannel.New[*conn](time.Millisecond)
	a, b := &conn{}, &conn{}
	want := func(want *conn) {
		t.Helper()
		got, err := conns.Acquire(context.Background(), false)
		if got != want || (err == nil) != (want != nil) || err != nil && !errors.Is(err, oncrpc.ErrNoClient) {
			t.Errorf("found %p, %v, want %p", got, err, want)
		}
	}
	want(nil)
	conns.Bind(a)
	want(a)
	conns.Bind(b)
	want(b)
	if !a.allowed || !b.allowed {
		t.Error("reverse Calls were not allowed")
	}
	conns.Bind(a) // late, by a handler of the older connection
	want(a)
	a.err = errors.New("lost")
	want(b)
	conns.Bind(a)
	want(b)
	b.err = a.err
	want(nil)
}

// The wait for a connection is bounded by a time, by the context, and by Close. Bind ends it.
func TestAcquireWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			wait, limit, closed, bound time.Duration
			took                       time.Duration
			want                       error
		}{
			{took: 90 * time.Second, want: oncrpc.ErrNoClient},
			{wait: time.Second, took: time.Second, want: oncrpc.ErrNoClient},
			{wait: time.Minute, limit: 5 * time.Second, took: 5 * time.Second, want: context.DeadlineExceeded},
			{wait: -1, limit: time.Hour, took: time.Hour, want: context.DeadlineExceeded},
			{wait: -1, closed: 3 * time.Second, took: 3 * time.Second, want: oncrpc.ErrClosed},
			{bound: 4 * time.Second, took: 4 * time.Second},
		} {
			conns := backchannel.New[*conn](tt.wait)
			ctx, cancel := context.WithCancel(context.Background())
			if tt.limit > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.limit)
			}
			if tt.closed > 0 {
				time.AfterFunc(tt.closed, conns.Close)
			}
			if tt.bound > 0 {
				time.AfterFunc(tt.bound, func() { conns.Bind(&conn{}) })
			}
			start := time.Now()
			if _, err := conns.Acquire(ctx, true); !errors.Is(err, tt.want) || time.Since(start) != tt.took {
				t.Errorf("%+v: %v after %v", tt, err, time.Since(start))
			}
			cancel()
		}
	})
}
