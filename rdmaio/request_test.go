package rdmaio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
)

// A Request may be dropped. The server has all its memory back, that of a Call with chunks
// included, and goes on. The caller waits, and its credit stays in use.
func TestDrop(t *testing.T) {
	w := rdmaiotest.New(t)
	dropped := make(chan error, 2)
	s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message) != 2 {
			quick(nil).ServeRPC(r)
			return
		}
		r.Drop(func(err error) { dropped <- err })
		r.Reply(rdmaio.Message{Inline: replyHeader(2).buf}, func(err error) { dropped <- err })
	}), &rdmaio.Config{Credits: 2})
	c := w.Dial(nil)
	again(t, c, smallCall(), 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, writeCall(2, 0, make([]byte, 5000)))
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
		again(t, c, smallCall(), xid) // uses the other credit
	}
	counts(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 1 && st.Granted == 2 })
	counts(t, serverConn(t, s), func(st *rdmaio.Stats) bool {
		return st.InFlight == 0 && st.PostedRecvs == 2 && st.DroppedMessages == 1 && st.CallsOverCredit == 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// T60: a procedure without a Reply. The caller's deadline gives it its memory back, with no valid
// key. The credit stays in use until the connection ends: such a protocol must count its credits.
func TestCallOnly(t *testing.T) { rdmaiotest.EachVersion(t, callOnly) }

func callOnly(t *testing.T, w *rdmaiotest.World) {
	got := make(chan []byte, 4)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message) == 1 {
			quick(nil).ServeRPC(r)
			return
		}
		got <- bytes.Clone(r.Message)
		r.Drop(nil)
	}), &rdmaio.Config{Credits: 3})
	c := w.Dial(nil)
	again(t, c, smallCall(), 1)
	for n := range 2 {
		mark := len(w.History.Events())
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			if m := <-got; len(m) < 5000 {
				t.Errorf("%d bytes came", len(m))
			}
			cancel()
		}()
		call := writeCall(uint32(2+n), 0, make([]byte, 5000))
		call.ReplyBuf = make([]byte, 5000)
		if _, err := c.Call(ctx, call); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		keysEnded(t, w.Since(mark), 2)
		counts(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == n+1 })
	}
	again(t, c, smallCall(), 1)
}

// A handler that panics costs its connection and nothing else. The reason is logged with a stack
// and returned by Conn.Err. The next connection works.
func TestHandlerPanics(t *testing.T) {
	for _, mode := range []string{"inline", "blocking", "answered before"} {
		t.Run(mode, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var log bytes.Buffer
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				if r.Message[3] == 1 {
					quick(nil).ServeRPC(r)
					return
				}
				if mode == "answered before" {
					quick(nil).ServeRPC(r)
				}
				panic("out of coffee")
			}), &rdmaio.Config{NonBlocking: mode != "blocking", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c := w.Dial(nil)
			again(t, c, smallCall(), 1)
			conn := serverConn(t, s)
			_, err := c.Call(context.Background(), writeCall(2, 0, make([]byte, 5000)))
			if mode != "answered before" && err == nil {
				t.Error("the Call went well")
			}
			<-conn.Done()
			if err := conn.Err(); !errors.Is(err, rdmaio.ErrPanic) || !strings.Contains(err.Error(), "out of coffee") {
				t.Errorf("the connection ended with %v", err)
			}
			<-c.Done()
			again(t, w.Dial(nil), smallCall(), 1)
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

// A handler that ends its goroutine, as t.Fatal does, costs its connection. Its place goes to the
// Call that waits for it, and Close returns.
func TestHandlerEndsGoroutine(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		const calls = 4
		var log bytes.Buffer
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if r.Message[3] == 1 {
				quick(nil).ServeRPC(r)
				return
			}
			runtime.Goexit()
		}), &rdmaio.Config{MaxHandlers: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range calls { // more than places
			c := w.Dial(nil)
			again(t, c, smallCall(), 1)
			var failed sync.WaitGroup
			for xid := range uint32(calls) {
				failed.Go(func() {
					if _, err := c.Call(context.Background(), nullCall(2+xid, 40)); err == nil {
						t.Error("the Call went well")
					}
				})
			}
			failed.Wait()
			<-c.Done()
		}
		again(t, w.Dial(nil), smallCall(), 1)
		if err := s.Close(); err != nil { // the log is complete
			t.Error(err)
		}
		if s := log.String(); strings.Count(s, "Goexit") < calls {
			t.Errorf("log: %s", s)
		}
	})
}

// A Call with more chunks than a peer with the same Config accepts is refused before it is sent,
// with the reason, which ERR_CHUNK does not contain.
func TestTooManyChunks(t *testing.T) {
	for _, c := range []struct{ items, results, limit, need int }{
		{20, 0, 16, 20}, {17, 0, 16, 17}, {16, 0, 16, 0}, {0, 17, 16, 17}, {0, 16, 16, 0}, {20, 20, -1, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w := rdmaiotest.New(t)
			limit := 0 // 16 is the default
			if c.limit < 0 {
				limit = c.limit
			}
			cfg := &rdmaio.Config{InlineSend: 4096, InlineRecv: 4096, MaxChunks: limit}
			w.Serve(echo{}, cfg)
			conn := w.Dial(cfg)
			e := callHeader(1, 0)
			for range c.items {
				e.opaque("item", rdmaiotest.Pattern(1000, 1))
			}
			call := &rdmaio.Call{Message: e.message(), ReplyBuf: make([]byte, 30000)}
			for range c.results {
				call.Results = append(call.Results, make([]byte, 5000))
			}
			_, err := conn.Call(context.Background(), call)
			var se *rdmaio.SizeError
			switch {
			case c.need == 0 && err != nil:
				t.Error(err)
			case c.need != 0 && (!errors.As(err, &se) || se.Need != c.need || se.Limit != c.limit || !strings.Contains(err.Error(), "chunks, limit")):
				t.Errorf("%v", err)
			case c.need != 0:
				counts(t, conn, func(st *rdmaio.Stats) bool { return st.Sent == 0 })
			}
		})
	}
}

// A nil Call is refused, without a panic.
func TestNilCall(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(echo{}, nil)
	_, err := w.Dial(nil).Call(context.Background(), nil)
	var ce *rdmaio.CallError
	if !errors.Is(err, rdmaio.ErrMessage) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Error(err)
	}
}

// writeChunks returns the sizes of the write chunks of a Call.
func writeChunks(r *rdmaio.Request) []int {
	results, _ := r.Room()
	return results
}

// replyRoom returns the size of the largest reply to a Call.
func replyRoom(r *rdmaio.Request) int {
	_, reply := r.Room()
	return reply
}
