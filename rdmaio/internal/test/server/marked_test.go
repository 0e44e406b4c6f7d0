package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// marked is a Handler whose procedures above 9 never block, or say so. Calls wait in come until the
// test lets them return, but procedures 1 and 10 answer at once.
type marked struct {
	bound int // of the replies
	come  chan *coming
}

// coming is a Call at the handler.
type coming struct {
	*rdmaio.Request
	proc uint32
	over chan func() // what the handler does at last
}

func newMarked(bound int) *marked { return &marked{bound, make(chan *coming, 100)} }

func (*marked) NonBlocking(_, _, proc uint32) bool { return proc > 9 }

// ReplyBound returns a bound that is low for procedure 12.
func (m *marked) ReplyBound(_, _, proc uint32) int {
	if proc == 12 {
		return min(m.bound, 100)
	}
	return m.bound
}

func (m *marked) ServeRPC(r *rdmaio.Request) {
	_, _, proc, _ := oncrpc.Procedure(r.Message)
	if proc%9 == 1 {
		answer(r)
		return
	}
	c := &coming{r, proc, make(chan func(), 1)}
	m.come <- c
	(<-c.over)()
}

// finish lets a Call be answered.
func (c *coming) finish() { c.over <- func() { answer(c.Request) } }

// callers makes Calls and waits for them.
type callers struct {
	sync.WaitGroup
	conn *rdmaio.Conn
}

// dialled returns the callers of a new connection that has all its credits.
func dialled(w *rdmaiotest.World) *callers {
	c := &callers{conn: w.Dial(nil)}
	c.start(1)
	return c
}

// start makes a Call of a procedure on another goroutine.
func (c *callers) start(proc uint32) {
	call := rpctest.SmallCall()
	binary.BigEndian.PutUint32(call.Inline, c.conn.XID())
	binary.BigEndian.PutUint32(call.Inline[20:], proc)
	c.Go(func() { _, _ = c.conn.Call(context.Background(), call) })
	synctest.Wait()
}

// expect checks how many Calls are at the handler.
func (m *marked) expect(t *testing.T, when string, want int) {
	t.Helper()
	synctest.Wait()
	if n := len(m.come); n != want {
		t.Errorf("%s: %d Calls are at the handler, want %d", when, n, want)
	}
}

// Marked procedures of a connection run one after the other, on one goroutine. One that blocks is
// logged once, after two seconds, and the others run on another goroutine. From then on it has a
// goroutine for each Call.
func TestMarkedProceduresRunInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w, m := rdmaiotest.New(t), newMarked(100)
		s := w.Serve(m, &rdmaio.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c := dialled(w)
		for range 3 {
			c.start(11)
		}
		m.expect(t, "three marked ones", 1)
		for range 2 {
			c.start(2)
		}
		m.expect(t, "two others", 3)
		first := <-m.come
		first.finish()
		m.expect(t, "the first is over", 3)
		time.Sleep(2100 * time.Millisecond)
		m.expect(t, "the second blocks", 4)
		for range 2 {
			c.start(11)
		}
		m.expect(t, "it has a goroutine", 6)
		c.start(10)
		for len(m.come) > 0 {
			(<-m.come).finish()
		}
		c.Wait()
		if n := bytes.Count(log.Bytes(), []byte("blocks although")); n != 1 {
			t.Errorf("%d warnings, want 1:\n%s", n, log.String())
		}
		_, _ = c.conn.Close(), s.Close()
	})
}

// Behind Requests that wait for a place, marked procedures wait for one, too. Those that have no
// place when the connection is closed are dropped.
func TestMarkedProceduresWaitForAPlace(t *testing.T) {
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, m := rdmaiotest.New(t), newMarked(100)
			s := w.Serve(m, &rdmaio.Config{MaxHandlers: 1})
			c := dialled(w)
			for range 2 {
				c.start(2)
			}
			c.start(11)
			c.start(11)
			c.start(11)
			m.expect(t, "both places are in use", 2)
			held := []*coming{<-m.come, <-m.come}
			if closes {
				closed := make(chan struct{})
				go func() { defer close(closed); _ = c.conn.Close() }()
				synctest.Wait()
				held[0].finish()
				held[1].finish()
				<-closed
				c.Wait()
				m.expect(t, "after Close", 0)
				_ = s.Close()
				return
			}
			held[0].finish()
			m.expect(t, "one place is free", 1)
			held[1].finish()
			m.expect(t, "both are free", 1+1)
			(<-m.come).finish()
			(<-m.come).finish()
			m.expect(t, "in the end", 1)
			(<-m.come).finish()
			c.Wait()
			_, _ = c.conn.Close(), s.Close()
		})
	}
}

// A marked procedure that waits for memory for its reply keeps no other one back.
func TestMarkedProcedureThatWaitsForMemory(t *testing.T) {
	const part = 16<<20 + 64<<10
	synctest.Test(t, func(t *testing.T) {
		w, m := rdmaiotest.New(t), newMarked(5<<20)
		s := w.Serve(m, &rdmaio.Config{MaxMemory: 6 * part})
		var all []*callers
		for range 8 { // the bounds of the first use up the memory
			c := dialled(w)
			c.start(2)
			all = append(all, c)
		}
		m.expect(t, "with a bound of 5 MiB", 4)
		c := dialled(w)
		for range 3 {
			c.start(11)
		}
		m.expect(t, "marked ones without memory", 4)
		for k := range 8 + 3 {
			synctest.Wait()
			if len(m.come) == 0 {
				t.Fatalf("after %d Calls none is at the handler", k)
			}
			(<-m.come).finish()
		}
		for _, c := range append(all, c) {
			c.Wait()
			_ = c.conn.Close()
		}
		synctest.Wait()
		if n := s.Stats().Memory; n != 0 {
			t.Errorf("%d bytes are taken in the end", n)
		}
		_ = s.Close()
	})
}

// While a marked procedure waits for memory for its reply, the next one runs if it needs little.
func TestRowDoesNotWaitForTheMemoryOfOne(t *testing.T) {
	const part = 16<<20 + 64<<10
	synctest.Test(t, func(t *testing.T) {
		w, m := rdmaiotest.New(t), newMarked(5<<20)
		s := w.Serve(m, &rdmaio.Config{MaxMemory: 6 * part})
		all := []*callers{dialled(w)}
		for range 8 { // the bounds of the first use up the memory
			c := dialled(w)
			c.start(2)
			all = append(all, c)
		}
		m.expect(t, "with a bound of 5 MiB", 4)
		all[0].start(11)
		m.expect(t, "a marked one without memory", 4)
		all[0].start(12)
		m.expect(t, "a marked one with a low bound", 5)
		for range 8 + 2 {
			synctest.Wait()
			(<-m.come).finish()
		}
		for _, c := range all {
			c.Wait()
			_ = c.conn.Close()
		}
		_ = s.Close()
	})
}

// One goroutine runs the row. One whose handler has blocked does not return to it: another one has
// taken its place.
func TestOneGoroutineRunsTheRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := rdmaiotest.New(t), newMarked(100)
		s := w.Serve(m, nil)
		c := dialled(w)
		for _, proc := range []uint32{11, 12, 13, 14} {
			c.start(proc)
		}
		blocks := <-m.come
		time.Sleep(2100 * time.Millisecond)
		m.expect(t, "the first blocks", 1)
		blocks.finish()
		m.expect(t, "it is over", 1)
		for left := range 3 {
			next := <-m.come
			if next.proc != uint32(12+left) {
				t.Errorf("procedure %d runs in place of %d", next.proc, 12+left)
			}
			next.finish()
			m.expect(t, "the next is over", min(1, 2-left))
		}
		c.Wait()
		_, _ = c.conn.Close(), s.Close()
	})
}

// Marked procedures that wait for an earlier one do not run when their connection is lost.
func TestRowIsDroppedWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := rdmaiotest.New(t), newMarked(100)
		s := w.Serve(m, nil)
		c := dialled(w)
		for range 3 {
			c.start(11)
		}
		first := <-m.come
		closed := make(chan struct{})
		go func() { defer close(closed); _ = c.conn.Close() }()
		synctest.Wait()
		first.finish()
		m.expect(t, "after the connection", 0)
		for len(m.come) > 0 {
			(<-m.come).finish()
			synctest.Wait()
		}
		<-closed
		c.Wait()
		_ = s.Close()
	})
}

// After a handler that exits its goroutine the marked procedures that wait for it run.
func TestMarkedProceduresRunAfterGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := rdmaiotest.New(t), newMarked(100)
		s := w.Serve(m, nil)
		c := dialled(w)
		for range 3 {
			c.start(11)
		}
		first := <-m.come
		first.over <- func() {
			answer(first.Request)
			runtime.Goexit()
		}
		for range 2 {
			synctest.Wait()
			if len(m.come) != 1 {
				t.Fatalf("%d Calls are at the handler, want 1", len(m.come))
			}
			(<-m.come).finish()
		}
		c.Wait()
		_, _ = c.conn.Close(), s.Close()
	})
}
