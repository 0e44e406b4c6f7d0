package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
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

// ReplyBound returns the size of the replies, so that a Request that is held keeps no memory from
// others.
func (h *holder) ReplyBound(_, _, _ uint32) int { return 24 }

// answer answers the oldest Request.
func (h *holder) answer() {
	h.mu.Lock()
	r := h.held[0]
	h.held = h.held[1:]
	h.size -= len(r.Message)
	m := rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}
	h.mu.Unlock()
	r.Reply(m, nil)
}

// bounded is a Handler whose replies are short.
type bounded struct{ rdmaio.HandlerFunc }

func (bounded) ReplyBound(_, _, _ uint32) int { return 24 }

// R309: the Calls with chunks of a connection share MaxConnMemory. Further ones wait in their
// order, and all are served. One that needs more than the limit is served alone.
func TestCallsShareMaxConnMemory(t *testing.T) {
	for _, size := range []int{20_000, 60_000} {
		w := rdmaiotest.New(t)
		h := &holder{got: make(chan struct{}, 100)}
		w.Serve(h, &rdmaio.Config{MaxConnMemory: 50_000})
		c := w.Dial(nil)
		if size == 20_000 { // the first Reply grants the credits
			go func() { <-h.got; h.answer() }()
			if _, err := c.Call(context.Background(), rpctest.NullCall(99, 40)); err != nil {
				t.Fatal(err)
			}
		}
		errs := make(chan error, 6)
		for xid := range uint32(cap(errs)) {
			go func() {
				_, err := c.Call(context.Background(), rpctest.WriteCall(xid, 0, make([]byte, size)))
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

// MaxMemory limits all connections: a Call that finds too little left waits until others are
// answered. One that needs more than a connection can have is refused.
func TestConnectionsShareMaxMemory(t *testing.T) {
	w := rdmaiotest.New(t)
	h := &holder{got: make(chan struct{}, 100)}
	w.Serve(h, &rdmaio.Config{MaxMemory: 300_000})
	first, second := w.Dial(nil), w.Dial(nil)
	done := make(chan error, 1)
	go func() {
		_, err := first.Call(context.Background(), rpctest.WriteCall(1, 0, make([]byte, 40_000)))
		done <- err
	}()
	<-h.got
	var pe *rdmaio.PeerError
	if _, err := second.Call(context.Background(), rpctest.WriteCall(2, 0, make([]byte, 50_001))); !errors.As(err, &pe) {
		t.Errorf("a Call beyond half of the memory: %v", err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := second.Call(context.Background(), rpctest.WriteCall(3, 0, make([]byte, 20_000)))
		waits <- err
	}()
	select {
	case <-h.got:
		t.Error("a Call has memory that another connection may have")
	case err := <-waits:
		t.Errorf("a Call does not wait for memory: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	h.answer()
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-h.got
	h.answer()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}

// R309: connections that take as much memory as they may leave some for a small one, however many
// they are: each has a share, which is smaller the more others have.
func TestGreedyConnectionsLeaveMemory(t *testing.T) {
	w := rdmaiotest.New(t)
	var mu sync.Mutex
	var held []*rdmaio.Request // Calls that are not answered before the end
	over := false
	answer := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
	}
	w.Serve(bounded{func(r *rdmaio.Request) {
		mu.Lock()
		defer mu.Unlock()
		if rpctest.XID(r.Message) >= 100 && !over {
			held = append(held, r)
			return
		}
		answer(r)
	}}, &rdmaio.Config{MaxMemory: 750_000})
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
		if _, err := c.Call(ctx, rpctest.NullCall(1, 40)); err != nil {
			t.Fatal(err)
		}
		for xid := range uint32(10) {
			wg.Go(func() { c.Call(ctx, rpctest.WriteCall(100+xid, 0, make([]byte, 9_800))) })
		}
		for c.Stats().Sent < 11 {
			time.Sleep(time.Millisecond)
		}
	}
	other := w.Dial(nil)
	for xid := range uint32(3) {
		if _, err := other.Call(ctx, rpctest.WriteCall(xid, 0, make([]byte, 9_800))); err != nil {
			t.Errorf("a Call of another client: %v", err)
		}
	}
}

// An idle connection keeps no memory of earlier Calls (R309).
func TestIdleConnectionReleasesMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		s := w.Serve(&rpctest.File{T: t}, nil)
		c := w.Dial(nil)
		if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, make([]byte, 500_000))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		conn := rdmaiotest.ServerConn(t, s)
		const messages = (32 + 1) * 1024 // Receives, and a send buffer
		if st := conn.Stats(); st.BufferBytes < 500_000+messages {
			t.Errorf("%d bytes at once: nothing is kept for the next Call", st.BufferBytes)
		}
		time.Sleep(2 * time.Minute)
		if st := conn.Stats(); st.BufferBytes != messages {
			t.Errorf("%d bytes after two minutes, want those of messages, %d", st.BufferBytes, messages)
		}
		if _, err := c.Call(context.Background(), rpctest.WriteCall(2, 0, make([]byte, 500_000))); err != nil {
			t.Fatal(err)
		}
	})
}
