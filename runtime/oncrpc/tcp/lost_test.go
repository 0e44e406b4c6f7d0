package tcp_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A connection that ends inside a long record gives its memory back to the server, and so does a
// long reply to a Call of the server.
func TestEndedRecordsFreeTheBudget(t *testing.T) {
	s := listen(t, newService(), nil)
	c := raw(t, s.Addr())
	part := append(binary.BigEndian.AppendUint32(nil, 1<<31|1<<20), make([]byte, 200<<10)...)
	if _, err := c.Write(part); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Stats().Memory > 0 })
	_ = c.Close()
	waitFor(t, func() bool { st := s.Stats(); return st.Conns == 0 && st.Memory == 0 })

	client := dial(t, s.Addr(), &tcp.Config{Logger: quiet, ReverseHandler: oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		b, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: append(b, make([]byte, 1<<20)...)}, nil)
	})})
	double(t, client)
	waitFor(t, func() bool { return len(s.Conns()) == 1 })
	server := s.Conns()[0]
	server.AllowReverse()
	reply, err := server.Call(t.Context(), callOf(server.XID(), 0))
	if err != nil || len(reply.Message) != 1<<20+24 {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Stats().Memory == 0 })
}

// A connection that its peer or this side closes is logged at Debug, because that is not a fault.
func TestClosedConnectionsAreNotWarnedOf(t *testing.T) {
	var log lines
	s := listen(t, newService(), &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c := dial(t, s.Addr(), nil)
	double(t, c)
	_ = c.Close()
	waitFor(t, func() bool { return strings.Contains(log.String(), "connection ended") })
	if got := log.String(); strings.Contains(got, "level=WARN") {
		t.Errorf("logged: %s", got)
	}
}

// A server with optional TLS logs each connection without TLS, once.
func TestConnectionWithoutTLSIsLoggedOnce(t *testing.T) {
	var log lines
	cfg := secured(tlstest.NewAuthority(t), tcp.TLSWanted)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := listen(t, newService(), cfg)
	c := dial(t, s.Addr(), nil)
	double(t, c)
	double(t, c)
	if got := log.String(); strings.Count(got, "the connection has no TLS") != 1 {
		t.Errorf("logged: %s", got)
	}
}

// Close of a connection logs once that it waits for a handler.
func TestCloseOfAConnectionWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		ours, theirs := net.Pipe()
		s := tcp.ServeConn(theirs, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			time.Sleep(30 * time.Second)
			r.Drop(nil)
		}), &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c := tcp.NewConn(ours, nil)
		go func() { _, _ = c.Call(context.Background(), callOf(1, 0)) }()
		synctest.Wait()
		_ = s.Close()
		synctest.Wait()
		if got := log.String(); strings.Count(got, "Close waits") != 1 {
			t.Errorf("logged: %s", got)
		}
		_ = c.Close()
	})
}

// A Call whose context is done is not sent, nor is one of 2 GiB: a fragment has less (RFC 5531
// §11).
func TestCallsThatAreNotSent(t *testing.T) {
	var served atomic.Int64
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) { served.Add(1); r.Drop(nil) }), nil)
	c := dial(t, s.Addr(), nil)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := c.Call(ctx, callOf(1, 0))
	wantError(t, err, context.Canceled, false)
	long := callOf(2, 0)
	data := make([]byte, 1<<20)
	for range 1 << 11 {
		at := uint64(len(long.Inline)) + uint64(len(long.Items))<<20
		long.Items = append(long.Items, xdr.Item{Position: at, Inline: len(long.Inline), Data: data})
	}
	ctx, stop = context.WithTimeout(t.Context(), patience)
	defer stop()
	_, err = c.Call(ctx, long)
	wantError(t, err, oncrpc.ErrMessage, false)
	if served.Load() != 0 || c.Err() != nil {
		t.Errorf("%d Calls were served, and the connection has %v", served.Load(), c.Err())
	}
}

// A Call that waits for one of MaxCalls ends with its context, or with the connection.
func TestCallThatWaitsForASlotEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		s := tcp.ServeConn(theirs, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			<-r.Context().Done()
			r.Drop(nil)
		}), &tcp.Config{Logger: quiet})
		c := tcp.NewConn(ours, &tcp.Config{MaxCalls: 1})
		go func() { _, _ = c.Call(context.Background(), callOf(1, 0)) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_, err := c.Call(ctx, callOf(2, 0))
		wantError(t, err, context.DeadlineExceeded, false)
		ended := make(chan error)
		go func() {
			_, err := c.Call(context.Background(), callOf(3, 0))
			ended <- err
		}()
		synctest.Wait()
		_ = c.Close()
		wantError(t, <-ended, oncrpc.ErrClosed, false)
		_ = s.Close()
	})
}

// A Call that is made again gets a new reply, with nothing of the earlier one in it.
func TestReplyHasNothingOfTheOneBefore(t *testing.T) {
	s := listen(t, newService(), nil)
	c := dial(t, s.Addr(), nil)
	call := callOf(1, 4)
	call.Reply = oncrpc.Reply{Items: []xdr.Item{{Data: []byte("old")}}, Padding: oncrpc.Padding{Align: 8}}
	reply, err := c.Call(t.Context(), call)
	if err != nil || len(reply.Items) != 0 || reply.Padding != (oncrpc.Padding{}) {
		t.Errorf("%+v, %v", reply, err)
	}
}

// With Config.NonBlocking the goroutine that reads runs the handler. If the handler exits that
// goroutine, the connection is closed even though the Call was answered, because nothing would read
// from it.
func TestNonBlockingHandlerRunsOnTheReader(t *testing.T) {
	stacks := make(chan string, 1)
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		b := make([]byte, 64<<10)
		stacks <- string(b[:runtime.Stack(b, false)])
		reply, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil)
		r.Reply(oncrpc.Message{Inline: reply}, nil)
		runtime.Goexit()
	}), &tcp.Config{NonBlocking: true, Logger: quiet})
	c := dial(t, s.Addr(), nil)
	_, _ = c.Call(t.Context(), callOf(1, 0))
	if stack := <-stacks; !strings.Contains(stack, "tcp.(*Conn).read(") {
		t.Errorf("the handler runs in\n%s", stack)
	}
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Error("the connection is up")
	}
}

// The panic of a handler, and an error of one that has panicked before, are logged with the
// program, the value and the stack.
func TestPanicsAreLogged(t *testing.T) {
	var log lines
	cfg := &tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if xidOf(r) == 1 {
			func() {
				defer func() { r.Report(oncrpc.Panicked(recover())) }()
				panic("out of milk")
			}()
			r.Drop(nil)
			return
		}
		panic("out of coffee")
	}), cfg)
	c := dial(t, s.Addr(), nil)
	go func() { _, _ = c.Call(t.Context(), callOf(1, 0)) }()
	waitFor(t, func() bool { return strings.Contains(log.String(), "out of milk") })
	_, _ = c.Call(t.Context(), callOf(2, 0))
	waitFor(t, func() bool { return strings.Contains(log.String(), "out of coffee") })
	entries := strings.Split(strings.TrimSpace(log.String()), "\n")
	for _, want := range [][]string{
		{"a handler failed", "out of milk", "stack=", "lost_test.go"},
		{"level=ERROR", "a handler panicked", "out of coffee", "400001", "stack=", "lost_test.go"},
	} {
		if !slices.ContainsFunc(entries, func(e string) bool {
			return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(e, w) })
		}) {
			t.Errorf("no entry has all of %q:\n%s", want, log.String())
		}
	}
}
