package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A Request may be dropped. The server has all its memory back, including the memory of a Call with
// chunks, and stays up. The caller waits, and its credit stays in use.
func TestRequestMayBeDropped(t *testing.T) {
	w := rdmaiotest.New(t)
	dropped := make(chan error, 2)
	s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message) != 2 {
			rpctest.Quick(nil).ServeRPC(r)
			return
		}
		r.Drop(func(err error) { dropped <- err })
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(2).Buf}, func(err error) { dropped <- err })
	}), &rdmaio.Config{Credits: 2})
	c := w.Dial(nil)
	rpctest.Again(t, c, rpctest.SmallCall(), 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, rpctest.WriteCall(2, 0, make([]byte, 5000)))
		done <- err
	}()
	first, second := <-dropped, <-dropped
	// the answer is refused at once, the drop completes a moment later
	if errors.Is(first, rdmaio.ErrAnswered) {
		first, second = second, first
	}
	if first != nil || !errors.Is(second, rdmaio.ErrAnswered) {
		t.Errorf("dropped: %v, and answered after that: %v", first, second)
	}
	for xid := uint32(3); xid < 10; xid++ {
		rpctest.Again(t, c, rpctest.SmallCall(), xid) // uses the other credit
	}
	rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 1 && st.Granted == 2 })
	rdmaiotest.AwaitStats(t, rdmaiotest.ServerConn(t, s), func(st *rdmaio.Stats) bool {
		return st.InFlight == 0 && st.PostedRecvs == 2 && st.DroppedMessages == 1 && st.CallsOverCredit == 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// T60: a procedure without a Reply. The caller's deadline gives it its memory back, with no valid
// key. The credit stays in use until the connection is closed: such a protocol must count its
// credits.
func TestProcedureMayHaveNoReply(t *testing.T) { rdmaiotest.EachVersion(t, callOnly) }

func callOnly(t *testing.T, w *rdmaiotest.World) {
	got := make(chan []byte, 4)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message) == 1 {
			rpctest.Quick(nil).ServeRPC(r)
			return
		}
		got <- bytes.Clone(r.Message)
		r.Drop(nil)
	}), &rdmaio.Config{Credits: 3})
	c := w.Dial(nil)
	rpctest.Again(t, c, rpctest.SmallCall(), 1)
	for n := range 2 {
		mark := len(w.History.Events())
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			if m := <-got; len(m) < 5000 {
				t.Errorf("%d bytes came", len(m))
			}
			cancel()
		}()
		call := rpctest.WriteCall(uint32(2+n), 0, make([]byte, 5000))
		call.ReplyBuf = make([]byte, 5000)
		if _, err := c.Call(ctx, call); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		rdmaiotest.KeysEnded(t, w.Since(mark), 2)
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == n+1 })
	}
	rpctest.Again(t, c, rpctest.SmallCall(), 1)
}

// A handler that panics costs its connection and nothing else. The reason is logged with a stack
// and returned by Conn.Err. The next connection works.
func TestPanicOfAHandlerCostsItsConnection(t *testing.T) {
	for _, mode := range []string{"inline", "blocking", "answered before"} {
		t.Run(mode, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var log bytes.Buffer
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				if r.Message[3] == 1 {
					rpctest.Quick(nil).ServeRPC(r)
					return
				}
				if mode == "answered before" {
					rpctest.Quick(nil).ServeRPC(r)
				}
				panic("out of coffee")
			}), &rdmaio.Config{NonBlocking: mode != "blocking", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c := w.Dial(nil)
			rpctest.Again(t, c, rpctest.SmallCall(), 1)
			conn := rdmaiotest.ServerConn(t, s)
			_, err := c.Call(context.Background(), rpctest.WriteCall(2, 0, make([]byte, 5000)))
			if mode != "answered before" && err == nil {
				t.Error("the Call went well")
			}
			<-conn.Done()
			if err := conn.Err(); !errors.Is(err, rdmaio.ErrPanic) || !strings.Contains(err.Error(), "out of coffee") {
				t.Errorf("the connection ended with %v", err)
			}
			<-c.Done()
			rpctest.Again(t, w.Dial(nil), rpctest.SmallCall(), 1)
			// does not wait for an answer to the lost Request; after it the log is complete
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if s := log.String(); !strings.Contains(s, "out of coffee") || !strings.Contains(s, "request_test.go") {
				t.Errorf("log: %s", s)
			}
		})
	}
}

// If a handler exits its goroutine, as t.Fatal does, its connection is closed. Its place goes to
// the Call that waits for it, and Close returns.
func TestHandlerEndsGoroutine(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		const calls = 4
		var log bytes.Buffer
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if r.Message[3] == 1 {
				rpctest.Quick(nil).ServeRPC(r)
				return
			}
			runtime.Goexit()
		}), &rdmaio.Config{MaxHandlers: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range calls { // more than places
			c := w.Dial(nil)
			rpctest.Again(t, c, rpctest.SmallCall(), 1)
			var failed sync.WaitGroup
			for xid := range uint32(calls) {
				failed.Go(func() {
					if _, err := c.Call(context.Background(), rpctest.NullCall(2+xid, 40)); err == nil {
						t.Error("the Call went well")
					}
				})
			}
			failed.Wait()
			<-c.Done()
		}
		rpctest.Again(t, w.Dial(nil), rpctest.SmallCall(), 1)
		if err := s.Close(); err != nil { // the log is complete
			t.Error(err)
		}
		if s := log.String(); strings.Count(s, "Goexit") < calls {
			t.Errorf("log: %s", s)
		}
	})
}
