package carriertest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// marked is a Handler whose procedures never block, or say so, except procedure 2.
type marked struct {
	oncrpc.HandlerFunc
	bound int // of the replies
}

var _ oncrpc.NonBlocker = marked{}

func (m marked) NonBlocking(prog, vers, proc uint32) bool {
	return prog == program && vers == 1 && proc != 2
}

func (m marked) ReplyBound(_, _, _ uint32) int { return m.bound }

// mark makes a Handler of a function whose replies have no bound.
func mark(f oncrpc.HandlerFunc) marked { return marked{f, -1} }

// runsHere reports whether the goroutine that calls it has read the Call. There all carriers call
// handlers from a method of one name.
func runsHere() bool {
	b := make([]byte, 64<<10)
	return strings.Contains(string(b[:runtime.Stack(b, false)]), ".serveHere(")
}

// RunHere checks that a carrier runs marked procedures where it has read the Call.
func RunHere(t *testing.T, open Open) {
	if here, elsewhere := countMarked(t, open); here == 0 || elsewhere > 0 {
		t.Errorf("%d marked procedures ran where the Call was read, and %d on other goroutines", here, elsewhere)
	}
}

// A procedure that is not marked has a goroutine. One that is marked answers Calls of all sizes.
func testMarked(t *testing.T, open Open) { countMarked(t, open) }

// countMarked makes Calls of a marked procedure and of another one, and returns how many of the
// marked ones ran where the Call was read, and how many did not.
func countMarked(t *testing.T, open Open) (here, elsewhere int) {
	var mu sync.Mutex
	c := open(t, mark(func(r *oncrpc.Request) {
		mu.Lock()
		switch reads := runsHere(); {
		case procOf(r) == 2 && reads:
			t.Error("a procedure that may block runs where its Call was read")
		case procOf(r) == 1 && reads:
			here++
		case procOf(r) == 1:
			elsewhere++
		}
		mu.Unlock()
		echo(r)
	}), nil)
	for _, n := range []int{0, 3, 900, 4095, 50_001} {
		for proc := range uint32(2) {
			data := pattern(n)
			if got := do(t, c, 1+proc, data, n+4); !bytes.Equal(got, data) {
				t.Errorf("%d bytes: %d came back, or others", n, len(got))
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return here, elsewhere
}

// Marked procedures that answer later, or drop, or answer badly, do as others do.
func testMarkedAnswers(t *testing.T, open Open) {
	done := make(chan error, 1)
	c := open(t, mark(func(r *oncrpc.Request) {
		switch procOf(r) {
		case 3:
			time.AfterFunc(time.Millisecond, func() { echo(r) })
		case 4:
			r.Drop(func(err error) { done <- err })
		case 5:
			r.Reply(replyMessage(xidOf(r)+1, nil), func(err error) { done <- err })
		default:
			echo(r)
		}
	}), nil)
	if got := do(t, c, 3, []byte("later"), 0); string(got) != "later" {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		if err := <-done; err != nil {
			t.Errorf("dropped: %v", err)
		}
		cancel()
	}()
	_, err := c.Call(ctx, newCall(c.XID(), 4, nil, 0))
	wantError(t, err, context.Canceled, true)
	_, _ = c.Call(soon(t), newCall(c.XID(), 5, nil, 0))
	if err := <-done; !errors.Is(err, oncrpc.ErrMessage) {
		t.Errorf("a bad reply: %v", err)
	}
	if got := do(t, c, 1, []byte("up"), 0); string(got) != "up" {
		t.Errorf("%q", got)
	}
}

// A marked procedure whose reply is longer than the carrier takes learns that, and the caller gets
// an error. The connection stays up.
func testMarkedHuge(t *testing.T, open Open) {
	done := make(chan error, 1)
	c := open(t, mark(func(r *oncrpc.Request) {
		if procOf(r) == 3 {
			_, room := r.Room()
			r.Reply(replyMessage(xidOf(r), make([]byte, room)), func(err error) { done <- err })
			return
		}
		echo(r)
	}), nil)
	reply, err := c.Call(soon(t), newCall(c.XID(), 3, nil, 0))
	if err == nil {
		var h oncrpc.Header
		if err := h.UnmarshalBinary(reply.Message); err != nil || h.Body.Reply.Accepted.Data.Stat != oncrpc.SystemErr {
			t.Errorf("the caller got %d bytes, %v", len(reply.Message), err)
		}
	}
	if err := <-done; err == nil {
		t.Error("a reply without room was sent")
	}
	if got := do(t, c, 1, []byte("up"), 0); string(got) != "up" {
		t.Errorf("%q", got)
	}
}

// A marked procedure that panics or exits its goroutine closes the connection. If it has answered
// before and the goroutine is its own, only that exits.
func testMarkedPanic(t *testing.T, open Open) {
	for _, answered := range []bool{false, true} {
		testMarkedDies(t, open, answered, false, func() { panic("a fault of a marked procedure") })
		testMarkedDies(t, open, answered, true, runtime.Goexit)
	}
}

func testMarkedDies(t *testing.T, open Open, answers, exits bool, die func()) {
	conn, reads := make(chan oncrpc.Conn, 1), make(chan bool, 1)
	c := open(t, mark(func(r *oncrpc.Request) {
		conn <- r.Conn()
		reads <- runsHere()
		if answers {
			echo(r)
		}
		die()
	}), nil)
	_, err := c.Call(soon(t), newCall(c.XID(), 1, nil, 0))
	var ce *oncrpc.CallError
	if err == nil && !answers || err != nil && (!errors.As(err, &ce) || !ce.MayHaveRun) {
		t.Error(err)
	}
	server := <-conn
	if here := <-reads; exits && answers && !here {
		return
	}
	select {
	case <-server.Done():
	case <-time.After(patience):
		t.Fatal("the server's end is up")
	}
	if !errors.Is(server.Err(), oncrpc.ErrPanic) {
		t.Error(server.Err())
	}
}

// Many Calls of marked and other procedures at a time get their own replies.
func testMarkedConcurrent(t *testing.T, open Open) {
	exchangeAtATime(t, open(t, mark(echo), nil), 10_000)
}

// A marked procedure that blocks delays no other connection. Close cancels its context, and waits
// for it.
func testMarkedBlocks(t *testing.T, open Open) {
	came, over := make(chan struct{}, 1), make(chan error, 1)
	h := mark(func(r *oncrpc.Request) {
		if procOf(r) == 3 {
			came <- struct{}{}
			<-r.Context().Done()
			over <- context.Cause(r.Context())
		}
		echo(r)
	})
	c, other := open(t, h, nil), open(t, h, nil)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), newCall(c.XID(), 3, nil, 0))
		failed <- err
	}()
	<-came
	for range 10 {
		if got := do(t, other, 1, []byte("alive"), 0); string(got) != "alive" {
			t.Errorf("%q", got)
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case err := <-over:
		if err == nil {
			t.Error("the context has no cause")
		}
	case <-time.After(patience):
		t.Error("the context of a procedure that blocks is not done after Close")
	}
	if err := <-failed; err == nil {
		t.Error("the Call was answered")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
