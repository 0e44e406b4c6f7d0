package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/zero"
	"github.com/rpcrdma/rpcrdma/internal/zero/zerorpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// patience is the time that a test gives to what happens at once.
const patience = 20 * time.Second

// receive returns the next value of a channel.
func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %v", what, patience)
	}
	return v
}

// waiter returns a wiper for so many Calls of WAIT, and its service.
func waiter(calls int) (*wiper, *rpc.Service) {
	w := &wiper{waiting: make(chan struct{}, calls), ended: make(chan error, calls)}
	return w, zerorpc.NewService(w)
}

// Over every connection, the context of a handler is cancelled when its caller gives up.
// Other Calls of the connection notice nothing.
func TestHandlerContextEndsWithItsCaller(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		w, svc := waiter(8)
		conn := warm(t, serve(replycache.New(rpc.NewHandler(nil, svc), nil), false).dial())
		if _, datagrams := conn.(*udp.Conn); datagrams {
			t.Skip("a datagram can be forged: no cancel over UDP")
		}
		c := zerorpc.NewClient(conn, nil)
		stays, leave := context.WithCancel(context.Background())
		others := make(chan error, 1)
		go func() { others <- c.Wait(stays) }()
		receive(t, "the other handler", w.waiting)
		for round := range 3 {
			ctx, stop := context.WithCancel(context.Background())
			returned := make(chan error, 1)
			go func() { returned <- c.Wait(ctx) }()
			receive(t, "the handler", w.waiting)
			stop()
			if err := receive(t, "the caller", returned); !errors.Is(err, context.Canceled) {
				t.Errorf("round %d: the caller has %v", round, err)
			}
			if why := receive(t, "the handler's context", w.ended); !errors.Is(why, oncrpc.ErrCanceled) {
				t.Errorf("round %d: the context ended by %v", round, why)
			}
			if n, err := c.Read(context.Background(), 4); n != 5 || err != nil {
				t.Errorf("round %d: another Call has %d, %v", round, n, err)
			}
		}
		if conn.Err() != nil || len(w.ended) != 0 {
			t.Errorf("the connection is %v, %d other contexts were cancelled", conn.Err(), len(w.ended))
		}
		leave()
		<-others
		receive(t, "the other handler's context", w.ended)
	})
}

// With RPCSEC_GSS the context is cancelled, too: the carrier below sends the CANCEL.
func TestSecureHandlerContextEndsWithItsCaller(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		w, svc := waiter(1)
		realm := gsstest.NewRealm(1)
		conn := serve(gss.NewHandler(rpc.NewHandler(nil, svc), realm.Acceptor(), &gss.HandlerConfig{Required: gss.Privacy}), false).dial()
		if _, datagrams := conn.(*udp.Conn); datagrams {
			t.Skip("no cancel over UDP")
		}
		secure, err := gss.NewCarrier(conn, realm.Initiator("alice", "server"), &gss.CarrierConfig{Service: gss.Privacy})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		go func() { _ = zerorpc.NewClient(secure, nil).Wait(ctx) }()
		receive(t, "the handler", w.waiting)
		stop()
		if why := receive(t, "the handler's context", w.ended); !errors.Is(why, oncrpc.ErrCanceled) {
			t.Errorf("the context ended by %v", why)
		}
	})
}

// A server without package cancel gets one such Call on a connection, refuses it with
// PROG_UNAVAIL, and gets no further one. Nothing else happens to the connection.
func TestStrangerIsToldOnce(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		w, svc := waiter(8)
		var cancels atomic.Int32
		refused := make(chan struct{}, 8)
		next := rpc.NewHandler(nil, svc)
		conn := serve(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if prog, _, _, _ := oncrpc.Procedure(r.Message); prog == cancel.Program {
				cancels.Add(1)
				defer func() { refused <- struct{}{} }()
			}
			next.ServeRPC(r)
		}), true).dial()
		warm(t, conn)
		c := zerorpc.NewClient(conn, nil)
		_, datagrams := conn.(*udp.Conn)
		for round := range 4 {
			ctx, stop := context.WithCancel(context.Background())
			go func() { _ = c.Wait(ctx) }()
			receive(t, "the handler", w.waiting)
			stop()
			if round == 0 && !datagrams {
				receive(t, "the Call of package cancel", refused)
			}
			if n, err := c.Read(context.Background(), 4); n != 5 || err != nil {
				t.Errorf("round %d: another Call has %d, %v", round, n, err)
			}
		}
		want := int32(1)
		if datagrams {
			want = 0
		}
		if conn.Err() != nil || cancels.Load() != want || len(w.ended) != 0 {
			t.Errorf("the connection is %v, the server got %d CANCELs, %d contexts were cancelled", conn.Err(), cancels.Load(), len(w.ended))
		}
	})
}

// A Call that was given up is not executed again when it is sent again: the reply cache has the
// answer of its handler.
func TestCanceledCallIsNotExecutedAgain(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		w, svc := waiter(8)
		conn := warm(t, serve(replycache.New(rpc.NewHandler(nil, svc), nil), false).dial())
		if _, datagrams := conn.(*udp.Conn); datagrams {
			t.Skip("no cancel over UDP")
		}
		head, _ := oncrpc.NewCall(conn.XID(), zero.Zero, zero.ZeroV1, zero.ProcWait, oncrpc.None()).AppendBinary(nil)
		message := oncrpc.Message{Inline: head}
		ctx, stop := context.WithCancel(context.Background())
		go func() {
			receive(t, "the handler", w.waiting)
			stop()
		}()
		if _, err := conn.Call(ctx, &oncrpc.Call{Message: message}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		receive(t, "the handler's context", w.ended)
		for { // the answer to the first one may be on its way
			reply, err := conn.Call(context.Background(), &oncrpc.Call{Message: message})
			if errors.Is(err, oncrpc.ErrXIDInUse) {
				time.Sleep(time.Millisecond)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var answer oncrpc.Header
			if err := answer.UnmarshalBinary(reply.Message); err != nil || !errors.Is(oncrpc.CheckReply(&answer, conn.XID()-1), oncrpc.ErrSystem) && answer.Body.Reply.Accepted.Data.Stat != oncrpc.SystemErr {
				t.Errorf("%v, reply % x", err, reply.Message)
			}
			break
		}
		if n := w.waits.Load(); n != 1 {
			t.Errorf("executed %d times", n)
		}
	})
}

// XIDs of no Request, of another connection's Requests, and of Calls that were answered cancel no
// context, in any number.
func TestStrangeXIDsCancelNothing(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		w, svc := waiter(8)
		s := serve(rpc.NewHandler(nil, svc), false)
		conn, other := s.dial(), oncrpc.Conn(nil)
		if _, datagrams := conn.(*udp.Conn); datagrams || s.addr == "" {
			t.Skip("no second connection to this server, or no cancel")
		}
		other = s.dial()
		warm(t, conn)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		xid := conn.XID()
		head, _ := oncrpc.NewCall(xid, zero.Zero, zero.ZeroV1, zero.ProcWait, oncrpc.None()).AppendBinary(nil)
		returned := make(chan error, 1)
		go func() {
			_, err := conn.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: head}})
			returned <- err
		}()
		receive(t, "the handler", w.waiting)
		tell := func(c oncrpc.Conn, xids ...uint32) error {
			err := rpc.NewClient(c, oncrpc.Program{Number: cancel.Program, Version: cancel.ProgramV1}, nil).
				Call(context.Background(), cancel.ProcCalls, (*cancel.XIDs)(&xids), nil, nil)
			return err
		}
		all := make([]uint32, cancel.MaxXIDs)
		for i := range all {
			all[i] = xid + uint32(i) + 1
		}
		for range 200 {
			if err := errors.Join(tell(conn, all...), tell(other, xid), tell(conn)); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.ended) != 0 || conn.Err() != nil || other.Err() != nil {
			t.Fatal("a context was cancelled, or a connection is down")
		}
		if err := tell(conn, xid, xid); err != nil { // its own, twice
			t.Fatal(err)
		}
		if why := receive(t, "the handler's context", w.ended); !errors.Is(why, oncrpc.ErrCanceled) {
			t.Errorf("the context ended by %v", why)
		}
		if err := receive(t, "the caller", returned); err != nil { // it has the answer
			t.Error(err)
		}
	})
}

// Cancels race with replies: each Call has its reply or is cancelled, and no other Call is hurt.
func TestCancelRacesWithReplies(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		w := new(wiper)
		conn := serve(rpc.NewHandler(nil, zerorpc.NewService(w)), false).dial()
		c := zerorpc.NewClient(conn, nil)
		errs := make(chan error, 4)
		for i := range cap(errs) {
			go func() {
				var failed error
				for n := range int32(100) {
					ctx, stop := context.WithTimeout(context.Background(), time.Duration(n%5)*20*time.Microsecond*time.Duration(1+i))
					res, err := c.Read(ctx, n)
					if err == nil && res != n+1 || err != nil && !errors.Is(err, context.DeadlineExceeded) {
						failed = fmt.Errorf("%d: %d, %w", n, res, err)
					}
					stop()
					if res, err := c.Wipe(context.Background(), n); err != nil || res != n+1 {
						failed = fmt.Errorf("%d, without a limit: %d, %w", n, res, err)
					}
				}
				errs <- failed
			}()
		}
		for range cap(errs) {
			if err := receive(t, "the callers", errs); err != nil {
				t.Error(err)
			}
		}
		if conn.Err() != nil {
			t.Error(conn.Err())
		}
	})
}

// A Call that was given up while it waits for a place does not run, over TCP and RDMA.
func TestCanceledCallThatWaitsDoesNotRun(t *testing.T) {
	for _, carrier := range []string{"tcp", "rdma"} {
		t.Run(carrier, func(t *testing.T) {
			w, svc := waiter(8)
			h := rpc.NewHandler(nil, svc)
			var conn oncrpc.Conn
			var got func() uint64 // Stats.CanceledRequests
			if carrier == "tcp" {
				s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcp.Config{MaxHandlers: 1})
				closed(t, s, err)
				c, err := tcp.Dial(context.Background(), s.Addr(), nil)
				closed(t, c, err)
				conn, got = c, func() uint64 { return s.Conns()[0].Stats().CanceledRequests }
			} else {
				world := newWorld(t, "mem")
				s, err := rdmaio.Listen(context.Background(), world.server, world.addr, h, &rdmaio.Config{MaxHandlers: 1})
				closed(t, s, err)
				world.addr = s.Addr()
				conn, got = world.dial(nil), func() uint64 { return s.Conns()[0].Stats().CanceledRequests }
			}
			c := zerorpc.NewClient(warm(t, conn), nil)
			first, leave := context.WithCancel(context.Background())
			for range 2 { // at the connection's place and the one of MaxHandlers
				go func() { _ = c.Wait(first) }()
				receive(t, "a handler", w.waiting)
			}
			second, stop := context.WithCancel(context.Background())
			returned := make(chan error, 1)
			go func() { returned <- c.Wait(second) }()
			for deadline := time.Now().Add(patience); got() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the Call was not cancelled")
				}
				if second.Err() == nil && time.Until(deadline) < patience-50*time.Millisecond {
					stop() // it was sent by now
				}
			}
			stop()
			if err := receive(t, "the caller", returned); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			leave()
			for range 2 {
				receive(t, "a handler's context", w.ended)
			}
			if n, err := c.Read(context.Background(), 4); n != 5 || err != nil || w.waits.Load() != 2 {
				t.Errorf("another Call has %d, %v; %d handlers of WAIT have run, want 2", n, err, w.waits.Load())
			}
		})
	}
}
