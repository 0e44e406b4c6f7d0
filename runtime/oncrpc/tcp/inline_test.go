package tcp_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

var markedProgram = oncrpc.Program{Number: 400077, Version: 2, Name: "MARKED", Procedures: map[uint32]string{1: "QUICK", 2: "STUCK", 3: "LARGE"}}

// markedService has a marked procedure 1 that answers, 2 that waits for the channel, and 3 that
// calls the client.
func markedService(gate chan struct{}) *rpc.Handler {
	svc := rpc.NewService(markedProgram)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error { *res = *args + 1; return nil })
	rpc.Handle(svc, 2, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { <-gate; return nil })
	rpc.Handle(svc, 3, func(r *rpc.Request, args, res *oncrpc.Uint32) error {
		r.Conn().AllowReverse()
		return rpc.NewClient(r.Conn(), markedProgram, nil).Call(r.Context(), 1, args, res, nil)
	})
	svc.NonBlocking(1, 2, 3)
	return rpc.NewHandler(nil, svc)
}

// A marked procedure that blocks all the same holds up its connection for two seconds. Then it is
// logged by name, once, and another goroutine reads. From then on the procedure has a goroutine,
// and delays no other.
func TestMarkedProcedureThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		gate := make(chan struct{})
		conn := mem.New(markedService(gate), &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer conn.Close()
		c := rpc.NewClient(conn, markedProgram, nil)
		quick := func() (took time.Duration) {
			began := time.Now()
			args, res := oncrpc.Uint32(41), oncrpc.Uint32(0)
			if err := c.Call(t.Context(), 1, &args, &res, nil); err != nil || res != 42 {
				t.Errorf("%d, %v", res, err)
			}
			return time.Since(began)
		}
		stuck := make(chan error, 3)
		for k, want := range []time.Duration{2 * time.Second, 0, 0} {
			go func() { stuck <- c.Call(t.Context(), 2, nil, nil, nil) }()
			synctest.Wait()
			if took := quick(); took > want || want > 0 && took < want/2 {
				t.Errorf("with %d procedures that block, a Call took %v, want %v at most", k+1, took, want)
			}
			quick()
		}
		close(gate)
		for range cap(stuck) {
			if err := <-stuck; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := len(leak.Goroutines("tcp.(*Conn).read(")); n != 2 {
			t.Errorf("%d goroutines read at the two ends in the end, want 2", n)
		}
		if n := strings.Count(log.String(), "blocks although"); n != 1 || !strings.Contains(log.String(), "400077") || !strings.Contains(log.String(), "procedure 2") {
			t.Errorf("%d warnings, want one of procedure 2:\n%s", n, log.String())
		}
	})
}

// A marked procedure that calls its client waits for a reply that its own goroutine would read.
// Another one does so.
func TestMarkedProcedureThatCallsItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := mem.New(markedService(nil), &tcp.Config{ReverseHandler: markedService(nil), Logger: quiet})
		defer conn.Close()
		args, res := oncrpc.Uint32(41), oncrpc.Uint32(0)
		if err := rpc.NewClient(conn, markedProgram, nil).Call(t.Context(), 3, &args, &res, nil); err != nil || res != 42 {
			t.Errorf("%d, %v", res, err)
		}
	})
}

// Close cancels the context of a marked procedure that blocks, and waits until it returns, before
// and after another goroutine reads.
func TestCloseWaitsForAMarkedProcedure(t *testing.T) {
	for _, after := range []time.Duration{0, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var over atomic.Bool
			svc := rpc.NewService(markedProgram)
			rpc.Handle(svc, 2, func(r *rpc.Request, _, _ *oncrpc.Void) error {
				<-r.Context().Done()
				time.Sleep(time.Second)
				over.Store(true)
				return nil
			})
			svc.NonBlocking(2)
			conn := mem.New(rpc.NewHandler(nil, svc), &tcp.Config{Logger: quiet})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() { _ = rpc.NewClient(conn, markedProgram, nil).Call(ctx, 2, nil, nil, nil) }()
			time.Sleep(after)
			synctest.Wait()
			if err := conn.Close(); err != nil || !over.Load() {
				t.Errorf("after %v: Close returned %v, the procedure has returned: %t", after, err, over.Load())
			}
		})
	}
}

// reserving is a Handler whose procedures are marked. Those whose XID is not 1 take half a MiB, and
// pass the Request on when they have it.
type reserving chan *oncrpc.Request

func (reserving) NonBlocking(_, _, _ uint32) bool { return true }

func (reserving) ReplyBound(_, _, _ uint32) int { return 100 }

func (h reserving) ServeRPC(r *oncrpc.Request) {
	if xidOf(r) != 1 && r.Reserve(500<<10) {
		h <- r
		return
	}
	r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
}

// While a marked procedure waits for memory, another goroutine reads its connection.
func TestMarkedProcedureThatWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 8
		h := make(reserving, calls)
		s, ln := servePipes(t, h, &tcp.Config{MaxMemory: 3 << 20, Logger: quiet})
		c := tcp.NewConn(ln.dial(), nil)
		var callers sync.WaitGroup
		for k := range uint32(calls) {
			callers.Go(func() { _, _ = c.Call(context.Background(), callOf(10+k, 0)) })
			synctest.Wait()
			began := time.Now()
			if _, err := c.Call(context.Background(), callOf(1, 0)); err != nil || time.Since(began) > 0 {
				t.Fatalf("a Call behind %d that take memory: %v, after %v", k+1, err, time.Since(began))
			}
		}
		if n := len(h); n == 0 || n == calls {
			t.Errorf("%d of %d have memory, want some", n, calls)
		}
		for range calls {
			r := <-h
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}
		callers.Wait()
		_ = c.Close()
		synctest.Wait()
		if n := s.Stats().Memory; n != 0 {
			t.Errorf("%d bytes are taken in the end", n)
		}
		_ = s.Close()
	})
}

// While a Request of the connection waits for a place, marked procedures wait, too.
func TestMarkedProcedureWaitsBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var served atomic.Int64
		h := behind{gate, &served}
		s, ln := servePipes(t, h, &tcp.Config{MaxHandlers: 1, Logger: quiet})
		c := tcp.NewConn(ln.dial(), nil)
		var callers sync.WaitGroup
		for xid := range uint32(4) { // two run, two wait
			callers.Go(func() { _, _ = c.Call(context.Background(), callOf(10+xid, 0)) })
			synctest.Wait()
		}
		marked := callOf(1, 0)
		binary.BigEndian.PutUint32(marked.Inline[20:], 5)
		callers.Go(func() { _, _ = c.Call(context.Background(), marked) })
		synctest.Wait()
		if n := served.Load(); n != 0 {
			t.Errorf("%d marked procedures overtook others", n)
		}
		close(gate)
		callers.Wait()
		_, _ = c.Close(), s.Close()
	})
}

// behind is a Handler whose marked procedure counts. Its others wait.
type behind struct {
	gate   chan struct{}
	served *atomic.Int64
}

func (behind) NonBlocking(_, _, procedure uint32) bool { return procedure == 5 }

func (behind) ReplyBound(_, _, _ uint32) int { return 100 }

func (h behind) ServeRPC(r *oncrpc.Request) {
	if _, _, proc, _ := oncrpc.Procedure(r.Message); proc != 5 {
		<-h.gate
	} else {
		h.served.Add(1)
	}
	r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
}

// counted is a Handler whose procedures are marked. It waits at one of its Calls.
type counted struct {
	served *atomic.Int64
	at     int64
	gate   chan struct{}
}

func (counted) NonBlocking(_, _, _ uint32) bool { return true }

func (counted) ReplyBound(_, _, _ uint32) int { return 100 }

func (h counted) ServeRPC(r *oncrpc.Request) {
	if h.served.Add(1) == h.at {
		<-h.gate
	}
	r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
}

// After 64 marked procedures in a row their replies are written, although more Calls were read.
func TestRepliesOfARowAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := counted{new(atomic.Int64), 70, make(chan struct{})}
		s, ln := servePipes(t, h, &tcp.Config{MaxRequests: 1000, Logger: quiet})
		conn := ln.dial()
		var all []byte
		for xid := range uint32(100) {
			call := callOf(xid, 0).Inline
			all = append(binary.BigEndian.AppendUint32(all, 1<<31|uint32(len(call))), call...)
		}
		go func() { _, _ = conn.Write(all) }()
		var got atomic.Int64
		go func() {
			b := make([]byte, len(goodReply(0)))
			for {
				if _, err := io.ReadFull(conn, b); err != nil {
					return
				}
				got.Add(1)
			}
		}()
		synctest.Wait()
		// A goroutine that writes takes replies that follow, too.
		if n := got.Load(); n < 64 || h.served.Load() != 70 {
			t.Errorf("%d replies were written when handler %d ran, want 64 at least, and 70", n, h.served.Load())
		}
		close(h.gate)
		synctest.Wait()
		if n := got.Load(); n != 100 {
			t.Errorf("%d replies in the end, want 100", n)
		}
		_ = conn.Close()
		_ = s.Close()
	})
}
