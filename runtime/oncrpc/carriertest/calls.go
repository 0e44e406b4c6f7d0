package carriertest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Messages of all sizes arrive whole, with items that are apart at the sender.
func testMessages(t *testing.T, open Open) {
	exchangeSizes(t, open, 0, 1, 3, 4, 900, 4095, 70_001, 1<<20+2)
}

func exchangeSizes(t *testing.T, open Open, sizes ...int) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	for _, n := range sizes {
		data := pattern(n)
		if got := do(t, c, 1, data, n+4); !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d came back, or others", n, len(got))
		}
	}
	// A reply that the caller has memory for goes there, or has its own.
	call := newCall(c.XID(), 1, pattern(100), 0)
	call.ReplyBuf = make([]byte, 1000)
	if reply, err := c.Call(soon(t), call); err != nil || !bytes.Equal(replied(t, reply), pattern(100)) {
		t.Error(err)
	}
}

// Replies come in another order than Calls.
func testOrder(t *testing.T, open Open) {
	var mu sync.Mutex
	var held *oncrpc.Request
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch procOf(r) {
		case 2:
			held = r
		case 3:
			echo(r)
			echo(held)
		default:
			echo(r)
		}
	}), nil)
	do(t, c, 1, nil, 0)
	first := make(chan []byte, 1)
	go func() { first <- do(t, c, 2, []byte("first"), 0) }()
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return held != nil })
	if got := do(t, c, 3, []byte("second"), 0); string(got) != "second" {
		t.Errorf("%q", got)
	}
	if got := <-first; string(got) != "first" {
		t.Errorf("%q", got)
	}
}

// A handler that waits holds no other Call.
func testSlow(t *testing.T, open Open) {
	gate := make(chan struct{})
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			<-gate
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	slow := make(chan []byte, 1)
	go func() { slow <- do(t, c, 2, []byte("slow"), 0) }()
	for range 10 {
		do(t, c, 1, []byte("fast"), 0)
	}
	select {
	case <-slow:
		t.Error("it was not slow")
	default:
	}
	close(gate)
	<-slow
}

// Many Calls at a time get their own replies.
func testConcurrent(t *testing.T, open Open) {
	exchangeAtATime(t, open(t, oncrpc.HandlerFunc(echo), nil), 10_000)
}

// exchangeAtATime calls procedures 1 and 2 from 16 goroutines, with arguments of less than a number
// of bytes.
func exchangeAtATime(t *testing.T, c Conn, limit int) {
	var wg sync.WaitGroup
	for k := range 16 {
		wg.Go(func() {
			for i := range 30 {
				data := bytes.Repeat([]byte{byte(k), byte(i)}, 1+(k*i*97)%(limit/2))
				if got := do(t, c, 1+uint32(i%2), data, len(data)); !bytes.Equal(got, data) {
					t.Errorf("%d bytes of another Call", len(got))
				}
			}
		})
	}
	wg.Wait()
}

// A cancelled Call returns at once, and may have run. Its reply does no harm.
func testCancelled(t *testing.T, open Open) {
	gate, came := make(chan struct{}), make(chan struct{})
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			close(came)
			<-gate
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-came; cancel() }()
	_, err := c.Call(ctx, newCall(c.XID(), 2, pattern(5000), 5000))
	wantError(t, err, context.Canceled, true)
	do(t, c, 1, []byte("another"), 0)
	close(gate)
	for range 3 {
		if got := do(t, c, 1, []byte("later"), 0); string(got) != "later" {
			t.Errorf("%q", got)
		}
	}
}

// Calls that cannot be sent have not run.
func testNotSent(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := c.Call(over, newCall(c.XID(), 1, nil, 0))
	wantError(t, err, context.Canceled, false)
	for name, m := range map[string]oncrpc.Message{
		"nothing": {}, "seven bytes": {Inline: make([]byte, 7)}, "a Reply": replyMessage(1, nil), "ten bytes": {Inline: make([]byte, 10)},
	} {
		if _, err := c.Call(soon(t), &oncrpc.Call{Message: m}); !errors.Is(err, oncrpc.ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = c.Call(soon(t), nil)
	wantError(t, err, oncrpc.ErrMessage, false)
	do(t, c, 1, nil, 0)
}

// Two Calls in progress cannot have one XID.
func testXIDInUse(t *testing.T, open Open) {
	gate, came := make(chan struct{}), make(chan struct{})
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			close(came)
			<-gate
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	xid, done := c.XID(), make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), newCall(xid, 2, nil, 0))
		done <- err
	}()
	<-came
	_, err := c.Call(soon(t), newCall(xid, 1, nil, 0))
	wantError(t, err, oncrpc.ErrXIDInUse, false)
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// When a connection is closed, Calls in progress fail and may have run. Further Calls fail and have
// not.
func testEnded(t *testing.T, open Open) {
	came := make(chan *oncrpc.Request, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			came <- r
			return
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	if c.Err() != nil {
		t.Errorf("up, with %v", c.Err())
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), newCall(c.XID(), 2, nil, 0))
		done <- err
	}()
	r := <-came
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }() // which may wait for the server's end
	wantError(t, <-done, oncrpc.ErrClosed, true)
	_, err := c.Call(soon(t), newCall(c.XID(), 1, nil, 0))
	wantError(t, err, oncrpc.ErrClosed, false)
	if !errors.Is(c.Err(), oncrpc.ErrClosed) {
		t.Error(c.Err())
	}
	select {
	case <-r.Context().Done():
	case <-time.After(patience):
		t.Error("the handler's context goes on")
	}
	if r.Conn().Err() == nil {
		t.Error("the server's end is up")
	}
	failed := make(chan error, 1)
	r.Reply(replyMessage(xidOf(r), nil), func(err error) { failed <- err })
	if err := <-failed; err == nil {
		t.Error("an answer was sent on a lost connection")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// wantError checks the error of a Call.
func wantError(t *testing.T, err, want error, mayHaveRun bool) {
	t.Helper()
	var ce *oncrpc.CallError
	if !errors.Is(err, want) || !errors.As(err, &ce) || ce.MayHaveRun != mayHaveRun {
		t.Errorf("found %v, want a CallError with %v; may have run: %v", err, want, mayHaveRun)
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}
