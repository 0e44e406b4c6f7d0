package carriertest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// The done function of an answer runs once, and a second answer is refused.
func testAnswers(t *testing.T, open Open) {
	done := make(chan error, 3)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if _, room := r.Room(); room < 100 {
			t.Errorf("there is room for %d bytes", room)
		}
		xid := xidOf(r)
		r.Reply(replyMessage(xid, nil), func(err error) { done <- err })
		r.Reply(replyMessage(xid, nil), func(err error) { done <- err })
		r.Drop(func(err error) { done <- err })
	}), nil)
	do(t, c, 1, nil, 0)
	refused := 0
	for range 3 {
		if err := <-done; errors.Is(err, oncrpc.ErrAnswered) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 2 {
		t.Errorf("%d answers were refused, want 2", refused)
	}
}

// A dropped Call waits until its context is done. The connection stays up.
func testDrop(t *testing.T, open Open) {
	dropped := make(chan error, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 2 {
			r.Drop(func(err error) { dropped <- err })
			return
		}
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-dropped; cancel() }()
	_, err := c.Call(ctx, newCall(c.XID(), 2, nil, 0))
	wantError(t, err, context.Canceled, true)
	do(t, c, 1, nil, 0)
}

// A handler's panic closes the connection.
func testPanic(t *testing.T, open Open) {
	testDies(t, open, func() { panic("a fault of the handler") })
}

// So does the end of its goroutine.
func testGoexit(t *testing.T, open Open) { testDies(t, open, runtime.Goexit) }

func testDies(t *testing.T, open Open, die func()) {
	conn := make(chan oncrpc.Conn, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		conn <- r.Conn()
		die()
	}), nil)
	_, err := c.Call(soon(t), newCall(c.XID(), 1, nil, 0))
	var ce *oncrpc.CallError
	if !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Error(err)
	}
	server := <-conn
	<-server.Done()
	if !errors.Is(server.Err(), oncrpc.ErrPanic) {
		t.Error(server.Err())
	}
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Error("the client's end is up")
	}
}

// A handler may answer from another goroutine after it has returned. Until then the Request is
// valid.
func testLater(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		time.AfterFunc(time.Millisecond, func() { echo(r) })
	}), nil)
	for n := range 5 {
		data := pattern(n * 3000)
		if got := do(t, c, 1, data, len(data)); !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d came back, or others", len(data), len(got))
		}
	}
}

// A message that is not a reply to the Call is not sent. The caller learns that there is no reply.
func testBadReply(t *testing.T, open Open) {
	done := make(chan error, 2)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		m := replyMessage(xidOf(r)+1, nil)
		if procOf(r) == 2 {
			m = callMessage(xidOf(r), 1, nil)
		}
		r.Reply(m, func(err error) { done <- err })
	}), nil)
	for proc := range uint32(2) {
		reply, err := c.Call(soon(t), newCall(c.XID(), 1+proc, nil, 0))
		if err == nil {
			var h oncrpc.Header
			if err := h.UnmarshalBinary(reply.Message); err != nil || h.Body.Reply.Accepted.Data.Stat != oncrpc.SystemErr {
				t.Errorf("the caller got %x", reply.Message)
			}
		}
		if err := <-done; !errors.Is(err, oncrpc.ErrMessage) {
			t.Errorf("the handler got %v", err)
		}
	}
}

// A handler calls the client on the connection of the Request, when the upper layer allows it. The
// two directions may use the same XID.
func testReverse(t *testing.T, open Open) {
	early := make(chan error, 1)
	server := func(r *oncrpc.Request) {
		conn := r.Conn()
		if procOf(r) == 1 {
			_, err := conn.Call(soon(t), newCall(conn.XID(), 1, nil, 0))
			early <- err
			conn.AllowReverse()
			echo(r)
			return
		}
		reply, err := conn.Call(soon(t), newCall(xidOf(r), 1, dataOf(r.Message, callHead), 0))
		if err != nil {
			t.Error(err)
			echo(r)
			return
		}
		r.Reply(replyMessage(xidOf(r), append(replied(t, reply), " back"...)), nil)
	}
	client := func(r *oncrpc.Request) {
		r.Reply(replyMessage(xidOf(r), append(bytes.Clone(dataOf(r.Message, callHead)), " there"...)), nil)
	}
	c := open(t, oncrpc.HandlerFunc(server), oncrpc.HandlerFunc(client))
	do(t, c, 1, nil, 0)
	wantError(t, <-early, oncrpc.ErrReverse, false)
	for range 10 {
		if got := do(t, c, 2, []byte("here"), 0); string(got) != "here there back" {
			t.Errorf("%q", got)
		}
	}
}

// A reverse Call fails when the client closes the connection.
func testReverseEnded(t *testing.T, open Open) {
	failed, came := make(chan error, 1), make(chan *oncrpc.Request, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if procOf(r) == 1 {
			echo(r)
			return
		}
		conn := r.Conn()
		conn.AllowReverse()
		_, err := conn.Call(soon(t), newCall(conn.XID(), 1, nil, 0))
		failed <- err
		r.Drop(nil)
	}), oncrpc.HandlerFunc(func(r *oncrpc.Request) { came <- r }))
	do(t, c, 1, nil, 0)
	forward := make(chan struct{})
	go func() {
		defer close(forward)
		_, _ = c.Call(soon(t), newCall(c.XID(), 2, nil, 0))
	}()
	r := <-came
	closed := make(chan struct{})
	go func() { defer close(closed); _ = c.Close() }()
	var ce *oncrpc.CallError
	if err := <-failed; !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Error(err)
	}
	<-forward
	select {
	case <-closed:
		t.Error("Close did not wait for the Request")
	default:
	}
	r.Drop(nil)
	<-closed
}

// wrapper is a Responder in front of the carrier's.
type wrapper struct {
	oncrpc.Responder
	seen chan []byte
}

func (w *wrapper) Reply(m oncrpc.Message, done func(error)) {
	w.seen <- bytes.Clone(m.Inline)
	w.Responder.Reply(m, done)
}

func (w *wrapper) Drop(done func(error)) {
	w.seen <- nil
	w.Responder.Drop(done)
}

// A Responder that a Handler has put in front of the carrier's sees the answer. If the handler
// panicked, it sees that there is no answer.
func testWrapped(t *testing.T, open Open) {
	seen := make(chan []byte, 1)
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		r.Responder = &wrapper{r.Responder, seen}
		if procOf(r) == 2 {
			panic("a fault of the handler")
		}
		echo(r)
	}), nil)
	do(t, c, 1, []byte("seen"), 0)
	if b := <-seen; len(b) != replyHead+4 {
		t.Errorf("the answer is %x", b)
	}
	_, _ = c.Call(soon(t), newCall(c.XID(), 2, nil, 0))
	if b := <-seen; b != nil {
		t.Errorf("the answer is %x", b)
	}
}

// A Handler that has returned without an answer passes the Request to another one.
func testServe(t *testing.T, open Open) {
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		go r.Serve(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if procOf(r) == 2 {
				panic("a fault of the second handler")
			}
			echo(r)
		}))
	}), nil)
	if got := do(t, c, 1, []byte("second"), 0); string(got) != "second" {
		t.Errorf("%q", got)
	}
	_, err := c.Call(soon(t), newCall(c.XID(), 2, nil, 0))
	var ce *oncrpc.CallError
	if !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Error(err)
	}
}

// Each end describes the other. Nothing here authenticates hosts. Whether there is TLS is the same
// at both ends.
func testPeer(t *testing.T, open Open) {
	check := func(of oncrpc.Conn) (secured bool) {
		p := of.Peer()
		if p.Addr == "" || p.Addr != of.RemoteAddr() || p.Host != nil || p.TLS != nil && p.TLS.Version == "" {
			t.Errorf("the peer at %q is %+v", of.RemoteAddr(), p)
		}
		return p.TLS != nil
	}
	var theirs atomic.Bool
	c := open(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		theirs.Store(check(r.Conn()))
		echo(r)
	}), nil)
	do(t, c, 1, nil, 0)
	if ours := check(c); ours != theirs.Load() {
		t.Errorf("TLS at the client %v, at the server %v", ours, theirs.Load())
	}
}
