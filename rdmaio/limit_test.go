package rdmaio_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// holder keeps Requests until answer is called.
type holder struct {
	mu   sync.Mutex
	held []*rdmaio.Request
	most int // bytes of their messages at a time
	size int
	got  chan struct{}
}

func (h *holder) ServeRPC(r *rdmaio.Request) {
	h.mu.Lock()
	h.held = append(h.held, r)
	h.size += len(r.Message)
	h.most = max(h.most, h.size)
	h.mu.Unlock()
	h.got <- struct{}{}
}

// answer answers the oldest Request.
func (h *holder) answer() {
	h.mu.Lock()
	r := h.held[0]
	h.held = h.held[1:]
	h.size -= len(r.Message)
	m := rdmaio.Message{Inline: replyHeader(xidOf(r.Message)).buf}
	h.mu.Unlock()
	r.Reply(m, nil)
}

func xidOf(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// R309: the Calls with chunks of a connection share MaxConnMemory. Further ones wait in their
// order, and all are served. One that needs more than the limit is served alone.
func TestConnMemory(t *testing.T) {
	for _, size := range []int{20_000, 60_000} {
		w := rdmaiotest.New(t)
		h := &holder{got: make(chan struct{}, 100)}
		w.Serve(h, &rdmaio.Config{MaxConnMemory: 50_000})
		c := w.Dial(nil)
		if size == 20_000 { // the first Reply grants the credits
			go func() { <-h.got; h.answer() }()
			if _, err := c.Call(context.Background(), nullCall(99, 40)); err != nil {
				t.Fatal(err)
			}
		}
		errs := make(chan error, 6)
		for xid := range uint32(cap(errs)) {
			go func() {
				_, err := c.Call(context.Background(), writeCall(xid, 0, make([]byte, size)))
				errs <- err
			}()
		}
		for range cap(errs) {
			<-h.got
			h.answer()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if h.most > max(50_000, size+200) {
			t.Errorf("%d bytes at a time", h.most)
		}
	}
}

// MaxMemory limits all connections: a Call that finds none left is refused, the others go on, and
// the memory is released.
func TestServerMemory(t *testing.T) {
	w := rdmaiotest.New(t)
	h := &holder{got: make(chan struct{}, 100)}
	w.Serve(h, &rdmaio.Config{MaxMemory: 50_000})
	first, second := w.Dial(nil), w.Dial(nil)
	done := make(chan error, 1)
	go func() {
		_, err := first.Call(context.Background(), writeCall(1, 0, make([]byte, 40_000)))
		done <- err
	}()
	<-h.got
	var pe *rdmaio.PeerError
	if _, err := second.Call(context.Background(), writeCall(2, 0, make([]byte, 20_000))); !errors.As(err, &pe) {
		t.Error(err)
	}
	go func() { <-h.got; h.answer() }()
	h.answer()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for range 1000 { // the memory of the first is released a moment after its Reply
		if _, err := second.Call(context.Background(), writeCall(3, 0, make([]byte, 20_000))); err == nil {
			break
		} else if !errors.As(err, &pe) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// A server has MaxConns connections; further ones are rejected until one ends.
func TestMaxConns(t *testing.T) {
	w := rdmaiotest.New(t)
	s := w.Serve(&file{t: t}, &rdmaio.Config{MaxConns: 2})
	first := w.Dial(nil)
	w.Dial(nil)
	var re *verbs.RejectedError
	if _, err := rdmaio.Dial(context.Background(), w.Client, "there", nil); !errors.As(err, &re) {
		t.Error(err)
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

// Handlers that block use MaxHandlers places over all connections. A Call that gets none is served
// later, or never if its connection ends.
func TestMaxHandlers(t *testing.T) {
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
		r.Reply(rdmaio.Message{Inline: replyHeader(xidOf(r.Message)).buf}, nil)
	}), &rdmaio.Config{MaxHandlers: 2})
	var wg sync.WaitGroup
	for range 3 {
		c := w.Dial(nil)
		for xid := range uint32(8) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, err := c.Call(context.Background(), nullCall(xid, 40)); err != nil {
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
func TestHandlersOfOne(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if xidOf(r.Message) >= 100 {
			<-r.Context().Done()
			r.Drop(nil)
			return
		}
		r.Reply(rdmaio.Message{Inline: replyHeader(xidOf(r.Message)).buf}, nil)
	}), &rdmaio.Config{MaxHandlers: 2})
	greedy, other := w.Dial(nil), w.Dial(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// the first Reply grants the credits
	if _, err := greedy.Call(ctx, nullCall(1, 40)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for xid := range uint32(8) {
		wg.Go(func() { greedy.Call(ctx, nullCall(100+xid, 40)) })
	}
	for greedy.Stats().Sent < 9 {
		time.Sleep(time.Millisecond)
	}
	for xid := range uint32(3) {
		if _, err := other.Call(ctx, nullCall(xid, 40)); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
}

// R309: connections that take as much memory as they may leave some for a small one, however many
// they are: each has at most as much as is left.
func TestMemoryOfMany(t *testing.T) {
	w := rdmaiotest.New(t)
	var mu sync.Mutex
	var held []*rdmaio.Request // Calls that are not answered before the end
	over := false
	answer := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: replyHeader(xidOf(r.Message)).buf}, nil)
	}
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		mu.Lock()
		defer mu.Unlock()
		if xidOf(r.Message) >= 100 && !over {
			held = append(held, r)
			return
		}
		answer(r)
	}), &rdmaio.Config{MaxMemory: 100_000})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	var wg sync.WaitGroup
	defer func() {
		cancel()
		wg.Wait()
		mu.Lock()
		over = true
		all := held
		mu.Unlock()
		for _, r := range all {
			answer(r)
		}
	}()
	for range 3 {
		c := w.Dial(nil)
		// the first Reply grants the credits
		if _, err := c.Call(ctx, nullCall(1, 40)); err != nil {
			t.Fatal(err)
		}
		for xid := range uint32(10) {
			wg.Go(func() { c.Call(ctx, writeCall(100+xid, 0, make([]byte, 9_800))) })
		}
		for c.Stats().Sent < 11 {
			time.Sleep(time.Millisecond)
		}
	}
	other := w.Dial(nil)
	for xid := range uint32(3) {
		if _, err := other.Call(ctx, writeCall(xid, 0, make([]byte, 9_800))); err != nil {
			t.Errorf("a Call of another client: %v", err)
		}
	}
}

// An idle connection keeps no memory of earlier Calls (R309).
func TestIdleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		s := w.Serve(&file{t: t}, nil)
		c := w.Dial(nil)
		if _, err := c.Call(context.Background(), writeCall(1, 0, make([]byte, 500_000))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		conn := serverConn(t, s)
		const messages = (32 + 1) * 1024 // Receives, and a send buffer
		if st := conn.Stats(); st.BufferBytes < 500_000+messages {
			t.Errorf("%d bytes at once: nothing is kept for the next Call", st.BufferBytes)
		}
		time.Sleep(2 * time.Minute)
		if st := conn.Stats(); st.BufferBytes != messages {
			t.Errorf("%d bytes after two minutes, want those of messages, %d", st.BufferBytes, messages)
		}
		if _, err := c.Call(context.Background(), writeCall(2, 0, make([]byte, 500_000))); err != nil {
			t.Fatal(err)
		}
	})
}

// A peer can cause ten log lines a second at most. The log says how many were omitted.
func TestLogLimit(t *testing.T) { synctest.Test(t, logLimit) }

func logLimit(t *testing.T) {
	w := rdmaiotest.New(t)
	var out lockedBuffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.Serve(&file{t: t}, &rdmaio.Config{MaxMemory: 1, MaxErrors: -1, Logger: logger})
	c := w.Dial(nil)
	call := func() {
		var pe *rdmaio.PeerError
		if _, err := c.Call(context.Background(), writeCall(1, 0, make([]byte, 5000))); !errors.As(err, &pe) {
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

// lockedBuffer is a bytes.Buffer for many goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
