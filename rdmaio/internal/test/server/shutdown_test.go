package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A server that is shut down answers the Calls that handlers have, and gives them no others.
func TestShutdownAnswersRunningCalls(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		var served atomic.Int32
		entered, leave := make(chan struct{}, 8), make(chan struct{})
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			served.Add(1)
			if r.Message[3] >= 10 {
				entered <- struct{}{}
				<-leave
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyTo(r.Message)}, nil)
		}), &rdmaio.Config{})
		busy, other, resting := w.Dial(nil), w.Dial(nil), w.Dial(nil)
		for _, c := range []*rdmaio.Conn{busy, other, resting} {
			if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
				t.Fatal(err)
			}
		}
		for s.Stats().Accepted < 3 { // the last client may know before the server
			time.Sleep(time.Millisecond)
		}
		if got := s.Stats(); got.Accepted != 3 || got.Conns != 3 || got.Rejected != 0 {
			t.Errorf("%+v", got)
		}
		if s.Err() != nil {
			t.Errorf("Err is %v while the server takes connections", s.Err())
		}
		results := make(chan error, 4)
		call := func(c *rdmaio.Conn, xid uint32) {
			_, err := c.Call(context.Background(), rpctest.NullCall(xid, 40))
			results <- err
		}
		for i, c := range []*rdmaio.Conn{busy, busy, other} {
			go call(c, uint32(10+i))
			<-entered
		}
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(context.Background()) }()
		<-s.Done()
		<-resting.Done()
		if _, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil); err == nil {
			t.Error("a connection was made during the shutdown")
		}
		if !errors.Is(s.Err(), rdmaio.ErrClosed) {
			t.Errorf("Err is %v", s.Err())
		}
		before := served.Load()
		late := make(chan error, 1)
		go func() { _, err := busy.Call(context.Background(), rpctest.NullCall(99, 40)); late <- err }()
		for busy.Stats().Calls < 4 {
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-down:
			t.Fatalf("Shutdown returned %v before the Calls were over", err)
		case err := <-results:
			t.Fatalf("a Call returned %v before it was answered", err)
		default:
		}
		close(leave)
		for range 3 {
			if err := <-results; err != nil {
				t.Errorf("a Call that was being served: %v", err)
			}
		}
		var ce *rdmaio.CallError
		if err := <-late; !errors.As(err, &ce) || busy.Err() == nil {
			t.Errorf("a Call that came late: %v", err)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
		if n := served.Load(); n != before {
			t.Errorf("%d Calls were given to handlers during the shutdown", n-before)
		}
		if got := s.Stats(); got.Conns != 0 || got.Accepted != 3 {
			t.Errorf("%+v", got)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// A Call that is never answered holds a shutdown up for no longer than its context says.
func TestShutdownEndsWithItsContext(t *testing.T) {
	w := rdmaiotest.New(t)
	entered := make(chan struct{})
	s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		close(entered)
		go func() { <-r.Context().Done(); r.Drop(nil) }()
	}), nil)
	c := w.Dial(nil)
	got := make(chan error, 1)
	go func() { _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); got <- err }()
	<-entered
	enough := errors.New("it takes too long")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(10*time.Millisecond, func() { cancel(enough) })
	if err := s.Shutdown(ctx); !errors.Is(err, enough) {
		t.Errorf("Shutdown: %v", err)
	}
	if c.Err() != nil {
		t.Errorf("the connection ended: %v", c.Err())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var ce *rdmaio.CallError
	if err := <-got; !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Errorf("the Call: %v", err)
	}
}

// T129: the owner of a server learns that its listener is gone.
func TestOwnerLearnsThatTheListenerIsGone(t *testing.T) {
	w := rdmaiotest.New(t)
	s := w.Serve(&rpctest.File{T: t}, nil)
	w.ServerMem.Remove()
	<-s.Done()
	if err := s.Err(); err == nil || errors.Is(err, rdmaio.ErrClosed) {
		t.Errorf("Err is %v", err)
	}
}

// A connection is one when it was set up, not before.
func TestConnectionIsListedWhenItIsSetUp(t *testing.T) {
	w := rdmaiotest.New(t)
	asked, let := make(chan struct{}), make(chan struct{})
	w.Server = slowDevice{w.Server, func() { close(asked); <-let }}
	s := w.Serve(&rpctest.File{T: t}, nil)
	dialed := make(chan *rdmaio.Conn, 1)
	go func() { dialed <- w.Dial(nil) }()
	<-asked
	if n := len(s.Conns()); n != 0 || s.Stats().Conns != 0 {
		t.Errorf("%d connections before any was accepted", n)
	}
	close(let)
	c := <-dialed
	if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if conns := s.Conns(); len(conns) == 1 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d connections", len(conns))
		}
	}
}

// slowDevice does something before it accepts a connection.
type slowDevice struct {
	verbs.Device
	before func()
}

func (d slowDevice) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	l, err := d.Device.Listen(ctx, addr)
	return slowListener{l, d.before}, err
}

type slowListener struct {
	verbs.Listener
	before func()
}

func (l slowListener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	return slowRequest{r, l.before}, err
}

type slowRequest struct {
	verbs.ConnRequest
	before func()
}

func (r slowRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	r.before()
	return r.ConnRequest.Accept(ctx, qp, params)
}
