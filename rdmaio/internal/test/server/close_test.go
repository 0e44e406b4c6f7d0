package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// T126: either end closes, or the link breaks, after each step of chunked Calls. Each Call returns
// once. No region, buffer or goroutine is left, as the world's Cleanup and TestMain check.
func TestEitherEndMayCloseAtEachStep(t *testing.T) {
	for _, who := range []string{"client", "server", "device"} {
		finished := false
		for step := 0; !finished; step++ {
			if step > 100 {
				t.Fatal("the Calls never finish")
			}
			t.Run(fmt.Sprintf("%s after %d", who, step), func(t *testing.T) {
				finished = closeAfter(t, who, step)
			})
		}
	}
}

// closeAfter lets step requests of two Calls run, closes, and reports whether the Calls had
// returned by then.
func closeAfter(t *testing.T, who string, steps int) (finished bool) {
	w := rdmaiotest.New(t)
	s := w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(9000, 1)}, nil)
	c := w.Dial(nil)
	if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
		t.Fatal(err)
	}
	w.Net.Hold()
	errs := make([]error, 2)
	var wg sync.WaitGroup
	data := rdmaiotest.Pattern(5000, 1)
	for i, call := range []*rdmaio.Call{rpctest.WriteCall(2, 9000, data), rpctest.ReadCall(3, 0, make([]byte, 8000))} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = c.Call(context.Background(), call)
		}()
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	for done := 0; done < steps && !finished; {
		if w.Net.Step() {
			done++
			continue
		}
		select {
		case <-over:
			finished = true
		case <-time.After(50 * time.Microsecond):
		}
	}
	switch who {
	case "client":
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	case "server":
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	case "device":
		w.ServerMem.Remove()
	}
	wg.Wait()
	w.Net.Release()
	for i, err := range errs {
		var ce *rdmaio.CallError
		switch {
		case err == nil:
		case finished:
			t.Errorf("Call %d: %v", i, err)
		case !errors.As(err, &ce):
			t.Errorf("Call %d: %v is no CallError", i, err)
		case who == "client" && !errors.Is(err, rdmaio.ErrClosed), who != "client" && !errors.Is(err, verbs.ErrPeerDisconnected):
			t.Errorf("Call %d: %v", i, err)
		}
	}
	if _, err := c.Call(context.Background(), rpctest.NullCall(9, 40)); err == nil {
		t.Error("a Call after the end went well")
	}
	live := make(map[uint32]bool)
	for _, e := range w.History.Events() {
		switch {
		case e.Device != "client":
		case e.Kind == trace.Complete:
			delete(live, e.InvalidateRKey)
		case e.RKey == 0:
		case e.Kind == trace.Register, e.Kind == trace.Reregister:
			live[e.RKey] = true
		case e.Kind == trace.Invalidate, e.Kind == trace.Deregister:
			delete(live, e.RKey)
		}
	}
	if len(live) != 0 {
		t.Errorf("%d keys live although no Call is", len(live))
	}
	return finished
}

// A work request that never completes costs the connection, not a Call forever (T50, T128).
func TestLostWorkRequestCostsTheConnection(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.File{T: t}, nil)
	c := w.Dial(&rdmaio.Config{WorkTimeout: 20 * time.Millisecond})
	if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
		t.Fatal(err)
	}
	w.Net.Hold()
	defer w.Net.Release()
	_, err := c.Call(context.Background(), rpctest.NullCall(2, 40))
	var ce *rdmaio.CallError
	if !errors.Is(err, rdmaio.ErrTimeout) || !errors.As(err, &ce) || !ce.MayHaveRun {
		t.Errorf("Call that never left: %v", err)
	}
	if !errors.Is(c.Err(), rdmaio.ErrTimeout) {
		t.Errorf("connection: %v", c.Err())
	}
}

// Close waits for a handler that has a Request, and its answer says that it was in vain.
func TestCloseWaitsForHandlers(t *testing.T) {
	w := rdmaiotest.New(t)
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 1)}
	s := w.Serve(h, nil)
	c := w.Dial(nil)
	data := rdmaiotest.Pattern(5000, 1)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, data))
		failed <- err
	}()
	r := <-h.Got
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-r.Context().Done()
	if err := <-failed; !errors.Is(err, verbs.ErrPeerDisconnected) {
		t.Errorf("client: %v", err)
	}
	select {
	case <-closed:
		t.Error("Close did not wait for the handler, which still has the message")
	case <-time.After(5 * time.Millisecond):
	}
	if string(r.Message[len(r.Message)-5000:]) != string(data) {
		t.Error("the message changed under the handler")
	}
	answered := make(chan error, 1)
	r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(1).Buf}, func(err error) { answered <- err })
	if err := <-answered; !errors.Is(err, rdmaio.ErrClosed) {
		t.Errorf("answer after the end: %v", err)
	}
	r.Reply(rdmaio.Message{}, func(err error) { answered <- err })
	if err := <-answered; !errors.Is(err, rdmaio.ErrAnswered) {
		t.Errorf("second answer: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A Dial to a missing server, or with unusable settings, leaves nothing behind.
func TestFailedDialLeavesNothing(t *testing.T) {
	w := rdmaiotest.New(t)
	if _, err := rdmaio.Dial(context.Background(), w.Client, "nowhere", nil); !errors.Is(err, verbs.ErrConnectionRefused) {
		t.Errorf("no listener: %v", err)
	}
	for _, cfg := range []rdmaio.Config{{Credits: -1}, {Credits: 1 << 20}, {InlineSend: 1023}, {InlineRecv: 256<<10 + 1}, {InlineSend: -1}, {SendQueue: 1}, {SegmentSize: -1}} {
		if _, err := rdmaio.Dial(context.Background(), w.Client, "nowhere", &cfg); !errors.Is(err, verbs.ErrInvalidValue) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if _, err := rdmaio.Listen(context.Background(), w.Server, "there", nil, nil); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("no handler: %v", err)
	}
	s := w.Serve(&rpctest.File{T: t}, nil)
	c := w.Dial(nil)
	for len(s.Conns()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := s.Conns()[0].Call(context.Background(), rpctest.NullCall(1, 40)); !errors.Is(err, verbs.ErrNotSupported) || !errors.Is(err, rdmaio.ErrReverse) {
		t.Errorf("Call from a server: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Call(ctx, rpctest.NullCall(1, 40)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a dead context: %v", err)
	}
}
