package carriertest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// submitted is a Conn whose Calls are submitted, and waited for.
type submitted struct {
	Conn
	t *testing.T
}

// Call implements oncrpc.Carrier.
func (c submitted) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	return submitAndWait(ctx, c.t, c.Conn, call)
}

// submitAndWait makes a Call in the form that does not block.
func submitAndWait(ctx context.Context, t *testing.T, c oncrpc.Carrier, call *oncrpc.Call) (*oncrpc.Reply, error) {
	o := newOutcome()
	if err := oncrpc.Submit(ctx, c, call, o.done); err != nil {
		if o.count.Load() != 0 {
			t.Errorf("the Call was refused and completed: %v", err)
		}
		return nil, err
	}
	return o.wait(t)
}

// outcome records how a Call was completed.
type outcome struct {
	reply *oncrpc.Reply
	err   error
	over  chan struct{}
	count atomic.Int32
}

func newOutcome() *outcome { return &outcome{over: make(chan struct{})} }

func (o *outcome) done(reply *oncrpc.Reply, err error) {
	if o.count.Add(1) == 1 {
		o.reply, o.err = reply, err
		close(o.over)
	}
}

// wait waits until the Call is over.
func (o *outcome) wait(t *testing.T) (*oncrpc.Reply, error) {
	t.Helper()
	select {
	case <-o.over:
	case <-time.After(patience):
		t.Fatal("a Call that was submitted never ended")
	}
	if n := o.count.Load(); n != 1 {
		t.Errorf("a Call was completed %d times", n)
	}
	return o.reply, o.err
}

// Many more Calls than may be in progress are submitted at once. Each gets its own reply, once.
func testSubmitMany(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	calls := 10_000
	if testing.Short() {
		calls = 300
	}
	ctx := soon(t)
	var wrong, twice atomic.Int32
	var wg sync.WaitGroup
	wg.Add(calls)
	for k := range uint32(calls) {
		var once atomic.Bool
		call := newCall(c.XID(), 1, binary.BigEndian.AppendUint32(nil, k), 0)
		if err := oncrpc.Submit(ctx, c, call, func(reply *oncrpc.Reply, err error) {
			if once.Swap(true) {
				twice.Add(1)
				return
			}
			if err != nil || binary.BigEndian.Uint32(replied(t, reply)) != k {
				wrong.Add(1)
			}
			wg.Done()
		}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if wrong.Load()+twice.Load() > 0 {
		t.Errorf("%d Calls failed or got the reply of another one, %d were completed twice", wrong.Load(), twice.Load())
	}
}

// A done function submits the next Call. Calls that block go on at the same time.
func testSubmitNext(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	const chains, length = 8, 50
	failed := make(chan error, chains)
	for range chains {
		left := length
		call := new(oncrpc.Call)
		var next func()
		done := func(reply *oncrpc.Reply, err error) {
			switch {
			case err != nil:
				failed <- err
			case string(replied(t, reply)) != "again":
				failed <- errors.New("another reply")
			case left == 0:
				failed <- nil
			default:
				next()
			}
		}
		next = func() {
			left--
			call.Message = newCall(c.XID(), 1, []byte("again"), 0).Message
			if err := oncrpc.Submit(t.Context(), c, call, done); err != nil {
				failed <- err
			}
		}
		next()
	}
	for range 20 {
		do(t, c, 1, []byte("blocks"), 0)
	}
	for range chains {
		select {
		case err := <-failed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("a chain of Calls came to a stop")
		}
	}
}

// Calls that were submitted end with their contexts, and at their deadlines, wherever they are:
// those that were sent and those that wait. Others stay, and so does the connection.
func testSubmitGiveUp(t *testing.T, open Open) {
	gate := make(chan struct{})
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled, late, others []*outcome
	for k := range 150 { // the buffer of a UDP socket takes 256
		call, o, of := newCall(c.XID(), 2, nil, 0), newOutcome(), t.Context()
		switch k % 3 {
		case 0:
			of, cancelled = ctx, append(cancelled, o)
		case 1:
			call.Deadline, late = time.Now().Add(50*time.Millisecond), append(late, o)
		default:
			if k > 30 {
				continue
			}
			others = append(others, o)
		}
		if err := oncrpc.Submit(of, c, call, o.done); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for of, list := range map[error][]*outcome{context.Canceled: cancelled, context.DeadlineExceeded: late} {
		for _, o := range list {
			var ce *oncrpc.CallError
			if _, err := o.wait(t); !errors.Is(err, of) || !errors.As(err, &ce) {
				t.Fatalf("found %v, want a CallError with %v", err, of)
			}
		}
	}
	for _, o := range others {
		if o.count.Load() > 0 {
			t.Error("a Call ended with the context of another one")
		}
	}
	close(gate)
	for _, o := range others {
		if _, err := o.wait(t); err != nil {
			t.Error(err)
		}
	}
	over := newOutcome()
	err := oncrpc.Submit(ctx, c, newCall(c.XID(), 1, nil, 0), over.done)
	if err == nil {
		_, err = over.wait(t)
	}
	wantError(t, err, context.Canceled, false)
	do(t, c, 1, []byte("later"), 0)
}

// A connection is closed with many Calls in progress and more that wait. Each ends once, and when
// Close returns, all are completed, if the carrier does that itself.
func testSubmitLost(t *testing.T, open Open) {
	came := make(chan struct{}, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			select {
			case came <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	calls := 10_000
	if testing.Short() {
		calls = 400
	}
	var all []*outcome
	for range calls {
		o := newOutcome()
		if err := oncrpc.Submit(t.Context(), c, newCall(c.XID(), 2, nil, 0), o.done); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	<-came
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_, native := c.(oncrpc.Submitter)
	sent := 0
	for k, o := range all {
		if n := o.count.Load(); native && n != 1 {
			t.Fatalf("when Close returns, Call %d was completed %d times", k, n)
		}
		var ce *oncrpc.CallError
		if _, err := o.wait(t); !errors.Is(err, oncrpc.ErrClosed) || !errors.As(err, &ce) {
			t.Fatalf("found %v, want a CallError with %v", err, oncrpc.ErrClosed)
		} else if ce.MayHaveRun {
			sent++
		}
	}
	if sent == 0 || sent == len(all) {
		t.Errorf("%d of %d Calls may have run: some were sent, and some waited", sent, len(all))
	}
	o := newOutcome()
	err := oncrpc.Submit(t.Context(), c, newCall(c.XID(), 1, nil, 0), o.done)
	if err == nil {
		_, err = o.wait(t)
	}
	wantError(t, err, oncrpc.ErrClosed, false)
}

// A panic in a done function closes the connection, and so does the exit of its goroutine. The
// other Calls fail.
func testSubmitPanic(t *testing.T, open Open) {
	for name, end := range map[string]func(){"panic": func() { panic("in a done function") }, "Goexit": runtime.Goexit} {
		c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if procOf(r) == 2 {
				<-r.Context().Done()
			}
			echo(r)
		}), nil)
		if _, ok := c.(oncrpc.Submitter); !ok {
			t.Skip("the carrier is not a Submitter: done functions have goroutines")
		}
		do(t, c, 1, nil, 0) // over RDMA a connection begins with one credit
		var others []*outcome
		for range 20 {
			o := newOutcome()
			if err := oncrpc.Submit(t.Context(), c, newCall(c.XID(), 2, nil, 0), o.done); err != nil {
				t.Fatal(err)
			}
			others = append(others, o)
		}
		if err := oncrpc.Submit(t.Context(), c, newCall(c.XID(), 1, nil, 0), func(*oncrpc.Reply, error) { end() }); err != nil {
			t.Fatal(err)
		}
		for _, o := range others {
			if _, err := o.wait(t); err == nil {
				t.Errorf("%s: a Call succeeded on a connection that must be closed", name)
			}
		}
		var panicked *oncrpc.PanicError
		if err := c.Err(); !errors.As(err, &panicked) {
			t.Errorf("%s: the connection ended with %v", name, err)
		}
		if err := c.Close(); err != nil {
			t.Error(fmt.Errorf("%s: %w", name, err))
		}
	}
}

// A Call that cannot be made is refused at once, and its done function does not run: otherwise one
// that submits again at each error never ends.
func testSubmitRefused(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var ran atomic.Int32
	count := func(*oncrpc.Reply, error) { ran.Add(1) }
	reply := &oncrpc.Call{Message: replyMessage(c.XID(), nil)}
	for _, tt := range []struct {
		what string
		ctx  context.Context
		call *oncrpc.Call
		done func(*oncrpc.Reply, error)
		want error
	}{
		{"no Call", soon(t), nil, count, oncrpc.ErrMessage},
		{"a reply", soon(t), reply, count, oncrpc.ErrMessage},
		{"no done function", soon(t), newCall(c.XID(), 1, nil, 0), nil, oncrpc.ErrNoDone},
		{"a context that is done", cancelled, newCall(c.XID(), 1, nil, 0), count, context.Canceled},
	} {
		err := oncrpc.Submit(tt.ctx, c, tt.call, tt.done)
		if ce, ok := errors.AsType[*oncrpc.CallError](err); !ok || ce.MayHaveRun || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want a CallError of a Call that was not sent: %v", tt.what, err, tt.want)
		}
	}
	if _, err := c.Call(soon(t), newCall(c.XID(), 1, []byte("after"), 0)); err != nil {
		t.Errorf("a Call after those that were refused: %v", err)
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d done functions ran", n)
	}
}

// Done functions submit without end, until the connection is closed. Close returns, and no function
// runs after it.
func testSubmitWithoutEnd(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	if _, ok := c.(oncrpc.Submitter); !ok {
		t.Skip("the carrier is not a Submitter: Close does not wait for done functions")
	}
	const chains = 40
	var running atomic.Int32
	came, once := make(chan struct{}), sync.Once{}
	for range chains {
		calls := 0
		var submit func()
		done := func(_ *oncrpc.Reply, err error) {
			if calls++; err == nil && calls > 100 {
				once.Do(func() { close(came) })
			}
			submit()
		}
		submit = func() {
			if err := oncrpc.Submit(t.Context(), c, newCall(c.XID(), 1, nil, 0), done); err != nil {
				running.Add(-1)
				wantError(t, err, oncrpc.ErrClosed, false)
			}
		}
		running.Add(1)
		submit()
	}
	<-came
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := running.Load(); n != 0 {
		t.Errorf("%d chains of %d go on after Close", n, chains)
	}
}

// A caller has a lock while it submits, which done functions take.
func testSubmitWithLock(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(echo), nil)
	var mu sync.Mutex
	left, over := 500, make(chan struct{})
	for range left {
		mu.Lock()
		err := oncrpc.Submit(t.Context(), c, newCall(c.XID(), 1, nil, 0), func(_ *oncrpc.Reply, err error) {
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				close(over)
			}
		})
		mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-over:
	case <-time.After(patience):
		t.Fatal("a Call that was submitted never ended")
	}
}
