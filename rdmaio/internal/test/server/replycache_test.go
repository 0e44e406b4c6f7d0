package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// counted is a file server that counts what it executes, and can be made to wait.
type counted struct {
	rpctest.File
	mu   sync.Mutex
	n    map[uint32]int // by XID
	gate chan struct{}  // not nil: each Call takes one
	drop bool
}

func (h *counted) ServeRPC(r *rdmaio.Request) {
	h.mu.Lock()
	h.n[binary.BigEndian.Uint32(r.Message)]++
	h.mu.Unlock()
	if h.gate != nil {
		<-h.gate
	}
	if h.drop {
		r.Drop(nil)
		return
	}
	r.Reply(h.Serve(r), nil)
}

func (h *counted) times(xid uint32) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n[xid]
}

// T121, R288: a repeated Call, on another connection and with other chunks, is not executed; its
// reply uses the new chunks.
func TestRepeatedCallIsNotExecuted(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		h := &counted{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 1)}, n: make(map[uint32]int)}
		w.Serve(replycache.New(h, nil), nil)
		first := w.Dial(nil)
		var second *rdmaio.Conn
		for i, c := range []*rdmaio.Conn{first, first, nil, nil} {
			if i == 2 {
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
				second = w.Dial(nil)
			}
			if c == nil {
				c = second
			}
			buf := make([]byte, 5000+i) // places that are not the same
			call := rpctest.ReadCall(7, 0, buf[:5000])
			call.Results[0] = buf
			if i == 2 { // the data inline, in a long reply
				call.Results, call.ReplyBuf = nil, make([]byte, 6000)
			}
			reply, err := c.Call(context.Background(), call)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(got, h.Data) {
				t.Errorf("try %d: %d bytes, %v", i, len(got), err)
			}
			h.File.Data = bytes.Clone(h.Data) // the cached reply does not share it
		}
		if n := h.times(7); n != 1 {
			t.Errorf("executed %d times", n)
		}
		// The same XID with another Call is another Call.
		if _, err := second.Call(context.Background(), rpctest.ReadCall(7, 1, make([]byte, 5000))); err != nil || h.times(7) != 2 {
			t.Errorf("%v, executed %d times", err, h.times(7))
		}
	})
}

// A duplicate of a Call in progress waits for its reply; if the handler drops it both are dropped.
func TestDuplicateWaitsForTheReply(t *testing.T) {
	for _, drop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			h := &counted{File: rpctest.File{T: t}, n: make(map[uint32]int), gate: make(chan struct{}), drop: drop}
			s := w.Serve(replycache.New(h, &replycache.Config{Client: func(*rdmaio.Request) string { return "one" }}), &rdmaio.Config{})
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			errs := make(chan error, 2)
			for range 2 {
				c := w.Dial(nil)
				go func() {
					_, err := c.Call(ctx, rpctest.NullCall(7, 40))
					errs <- err
				}()
			}
			synctest.Wait()
			received := uint64(0)
			for _, c := range s.Conns() {
				received += c.Stats().Calls
			}
			if received != 2 || len(errs) != 0 {
				t.Fatalf("%d Calls have come, %d have returned; want 2 in progress", received, len(errs))
			}
			h.gate <- struct{}{}
			for range 2 {
				if err := <-errs; drop != errors.Is(err, context.DeadlineExceeded) || !drop && err != nil {
					t.Error(err)
				}
			}
			if n := h.times(7); n != 1 {
				t.Errorf("executed %d times", n)
			}
			close(h.gate) // for whoever was executed too often
		})
	}
}

// The cache is limited by number, bytes, size and age; clients do not evict each other's entries.
func TestReplyCacheKeepsToItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		h := &counted{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(3000, 1)}, n: make(map[uint32]int)}
		who := "one"
		w.Serve(replycache.New(h, &replycache.Config{
			Entries: 10, Bytes: 8000, MaxReply: 3500, Age: time.Minute,
			Client: func(*rdmaio.Request) string { return who },
		}), nil)
		c := w.Dial(nil)
		call := func(xid uint32, size int) {
			t.Helper()
			call := rpctest.NullCall(xid, 40)
			if size > 0 {
				call = rpctest.ReadCall(xid, 0, make([]byte, size))
			}
			if _, err := c.Call(context.Background(), call); err != nil {
				t.Fatal(err)
			}
		}
		again := func(what string, xid uint32, size, want int) {
			t.Helper()
			if call(xid, size); h.times(xid) != want {
				t.Errorf("%s: executed %d times, want %d", what, h.times(xid), want)
			}
		}
		call(1, 0)
		again("at once", 1, 0, 1)
		who = "another"
		again("another client", 1, 0, 2)
		for xid := range uint32(20) {
			call(100+xid, 0)
		}
		who = "one"
		again("others pushed nothing out", 1, 0, 2)
		for xid := range uint32(10) {
			call(200+xid, 0)
		}
		again("ten came after it", 1, 0, 3)
		for xid := range uint32(3) { // of 3,000 bytes each
			call(300+xid, 3000)
		}
		again("the first of three large ones", 300, 3000, 2)
		again("the last", 302, 3000, 1)
		time.Sleep(61 * time.Second)
		again("too old", 302, 3000, 2)
		h.Data = rdmaiotest.Pattern(4000, 1)
		call(400, 4000)
		again("too large", 400, 4000, 2)
	})
}

// A reply that is not worth keeping costs no copy.
func TestLargeReplyCostsNoCopy(t *testing.T) {
	const size, calls = 1 << 20, 16
	w := rdmaiotest.New(t)
	h := &counted{File: rpctest.File{T: t, Data: rdmaiotest.Pattern(size, 1)}, n: make(map[uint32]int)}
	w.Serve(replycache.New(h, nil), nil)
	c, buf := w.Dial(nil), make([]byte, size)
	var before, after runtime.MemStats
	for i := range calls + 1 {
		if i == 1 {
			runtime.ReadMemStats(&before)
		}
		if _, err := c.Call(context.Background(), rpctest.ReadCall(uint32(i), 0, buf)); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if !bytes.Equal(buf, h.Data) {
		t.Error("other data")
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > calls*size/2 {
		t.Errorf("%d bytes allocated for %d replies of %d", n, calls, size)
	}
}

// Connections are lost repeatedly, with a cache: each Call is executed exactly once, and each
// caller gets its result.
func TestCacheExecutesEachCallOnce(t *testing.T) {
	w := rdmaiotest.New(t)
	h := &counted{File: rpctest.File{T: t}, n: make(map[uint32]int)}
	rdmaiotest.ServeCut(w, 23, func(h rdmaio.Handler) rdmaio.Handler { return replycache.New(h, nil) }, h)
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Retransmits: 1000})
	var callers sync.WaitGroup
	for range 8 {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for range 60 {
				xid := c.XID()
				reply, err := c.Call(context.Background(), rpctest.NullCall(xid, 40))
				if err != nil || binary.BigEndian.Uint32(reply.Message) != xid {
					t.Error(err)
					return
				}
			}
		}()
	}
	callers.Wait()
	if c.Stats().Retransmissions == 0 {
		t.Error("nothing was sent again")
	}
	for xid, n := range h.n {
		if n != 1 {
			t.Errorf("%#x was executed %d times", xid, n)
		}
	}
	if len(h.n) != 480 {
		t.Errorf("%d Calls executed, want 480", len(h.n))
	}
}
