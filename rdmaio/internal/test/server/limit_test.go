package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A server has MaxConns connections; further ones are rejected until one is closed, as all are in
// use.
func TestConnectionsBeyondMaxConnsAreRejected(t *testing.T) {
	w := rdmaiotest.New(t)
	held := make(chan *rdmaio.Request, 2)
	s := w.Serve(rpctest.Silent{Got: held}, &rdmaio.Config{MaxConns: 2})
	first := w.Dial(nil)
	for _, c := range []*rdmaio.Conn{first, w.Dial(nil)} {
		go func() { _, _ = c.Call(context.Background(), rpctest.NullCall(1, 40)) }()
	}
	busy := []*rdmaio.Request{<-held, <-held}
	var re *verbs.RejectedError
	if _, err := rdmaio.Dial(context.Background(), w.Client, "there", nil); !errors.As(err, &re) {
		t.Error(err)
	}
	for _, r := range busy {
		r.Drop(nil)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if len(s.Conns()) < 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for range 1000 {
		c, err := rdmaio.Dial(context.Background(), w.Client, "there", nil)
		if err == nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("no place for another connection")
}

// Handlers that block use MaxHandlers places over all connections. A Call that gets no place is
// served later, or never if its connection is closed.
func TestHandlersShareMaxHandlers(t *testing.T) {
	w := rdmaiotest.New(t)
	var mu sync.Mutex
	running, most := 0, 0
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
	}), &rdmaio.Config{MaxHandlers: 2})
	var wg sync.WaitGroup
	for range 3 {
		c := w.Dial(nil)
		for xid := range uint32(8) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, err := c.Call(context.Background(), rpctest.NullCall(xid, 40)); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	wg.Wait()
	if most > 2+3 {
		t.Errorf("%d handlers at a time, want 2, and one for each connection", most)
	}
}

// Calls of one client that are never answered hold all places for handlers, and no other client
// waits.
func TestOneClientHoldsUpNoOther(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if rpctest.XID(r.Message) >= 100 {
			<-r.Context().Done()
			r.Drop(nil)
			return
		}
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
	}), &rdmaio.Config{MaxHandlers: 2})
	greedy, other := w.Dial(nil), w.Dial(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// the first Reply grants the credits
	if _, err := greedy.Call(ctx, rpctest.NullCall(1, 40)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for xid := range uint32(8) {
		wg.Go(func() { greedy.Call(ctx, rpctest.NullCall(100+xid, 40)) })
	}
	for greedy.Stats().Sent < 9 {
		time.Sleep(time.Millisecond)
	}
	for xid := range uint32(3) {
		if _, err := other.Call(ctx, rpctest.NullCall(xid, 40)); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
}

// A peer can cause ten log lines a second at most. The log says how many were omitted.
func TestPeerCausesFewLogLines(t *testing.T) { synctest.Test(t, logLimit) }

func logLimit(t *testing.T) {
	w := rdmaiotest.New(t)
	var out rdmaiotest.Log
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.Serve(&rpctest.File{T: t}, &rdmaio.Config{MaxMemory: 1, MaxErrors: -1, Logger: logger})
	c := w.Dial(nil)
	call := func() {
		var pe *rdmaio.PeerError
		if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, make([]byte, 5000))); !errors.As(err, &pe) {
			t.Fatal(err)
		}
	}
	for range 100 {
		call()
	}
	n := strings.Count(out.String(), "a call was refused")
	if n != 10 { // all in the same moment, by the bubble's clock
		t.Errorf("%d lines for a hundred Calls, want 10", n)
	}
	if !strings.Contains(out.String(), "MaxMemory is 1") {
		t.Error("the reason is not logged")
	}
	for !strings.Contains(out.String(), "omitted=") {
		time.Sleep(10 * time.Millisecond)
		call()
	}
}
