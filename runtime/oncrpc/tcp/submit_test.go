package tcp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// script is the peer of a connection that a test plays.
type script struct {
	t *testing.T
	net.Conn
	xids []uint32 // of the Calls that have come
}

// played returns a client over a pipe, in a bubble, and its peer.
func played(t *testing.T, cfg *tcp.Config) (*tcp.Conn, *script) {
	ours, theirs := net.Pipe()
	if cfg == nil {
		cfg = new(tcp.Config)
	}
	cfg.Logger = quiet
	c := tcp.NewConn(ours, cfg)
	t.Cleanup(func() { _ = c.Close(); _ = theirs.Close() })
	return c, &script{t: t, Conn: theirs}
}

// read reads the Calls until the client sends no more.
func (s *script) read() []uint32 {
	s.t.Helper()
	s.xids = nil
	for {
		_ = s.SetReadDeadline(time.Now().Add(time.Millisecond))
		b := make([]byte, 44)
		if n, err := io.ReadFull(s, b); err != nil {
			if n > 0 {
				s.t.Errorf("the client sent %d bytes in place of a Call: %x", n, b[:n])
			}
			return s.xids
		}
		s.xids = append(s.xids, binary.BigEndian.Uint32(b[4:]))
	}
}

// answer answers Calls.
func (s *script) answer(xids ...uint32) {
	s.t.Helper()
	if _, err := s.Write(answers(xids...)); err != nil {
		s.t.Error(err)
	}
	synctest.Wait()
}

// answers returns records with the answers to Calls.
func answers(xids ...uint32) (b []byte) {
	for _, xid := range xids {
		b = binary.BigEndian.AppendUint32(b, 1<<31|24)
		b, _ = oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(b) // cannot fail
	}
	return b
}

// begun holds Calls that were submitted, and the errors of those that are over.
type begun struct {
	t     *testing.T
	conn  *tcp.Conn
	ended map[uint32]error
}

// submit submits Calls with these XIDs.
func (b *begun) submit(ctx context.Context, within time.Duration, xids ...uint32) {
	b.t.Helper()
	for _, xid := range xids {
		call := callOf(xid, 0)
		if within > 0 {
			call.Deadline = time.Now().Add(within)
		}
		if err := b.conn.Submit(ctx, call, func(_ *oncrpc.Reply, err error) {
			if _, twice := b.ended[xid]; twice {
				b.t.Errorf("Call %d ended twice", xid)
			}
			b.ended[xid] = err
		}); err != nil {
			b.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// want checks which Calls are over since the last time.
func (b *begun) want(why error, run bool, xids ...uint32) {
	b.t.Helper()
	synctest.Wait()
	for _, xid := range xids {
		err, ok := b.ended[xid]
		var ce *oncrpc.CallError
		switch {
		case !ok:
			b.t.Errorf("Call %d has not ended", xid)
		case why == nil && err != nil, !errors.Is(err, why), why != nil && (!errors.As(err, &ce) || ce.MayHaveRun != run || ce.XID != xid):
			b.t.Errorf("Call %d ended with %v, want %v; may have run: %v", xid, err, why, run)
		}
		delete(b.ended, xid)
	}
	if len(b.ended) > 0 {
		b.t.Errorf("others are over: %v", b.ended)
		clear(b.ended)
	}
}

// never is the done function of a Call that does not begin.
func never(*oncrpc.Reply, error) { panic("the done function of a Call that did not begin has run") }

// Calls beyond MaxCalls wait in their order until others are over, by a reply or without one. Those
// that are given up while they wait were not sent, and take no place.
func TestSubmittedCallsWaitForPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := played(t, &tcp.Config{MaxCalls: 2, NoCancel: true})
		b := &begun{t, c, map[uint32]error{}}
		wantSent := func(xids ...uint32) {
			t.Helper()
			if got := peer.read(); !slices.Equal(got, xids) {
				t.Errorf("the peer got Calls %v, want %v", got, xids)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		other, cancelOther := context.WithCancel(t.Context())
		b.submit(t.Context(), 0, 1, 2, 3)
		b.submit(ctx, 0, 4)
		b.submit(t.Context(), 0, 5)
		b.submit(t.Context(), time.Second, 6)
		b.submit(other, 0, 7)
		b.submit(t.Context(), 0, 8)
		wantSent(1, 2)
		if st := c.Stats(); st.InFlight != 8 || st.Waiting != 6 {
			t.Errorf("Stats count %d Calls without a reply, %d without a place, want 8 and 6", st.InFlight, st.Waiting)
		}
		peer.answer(2)
		b.want(nil, false, 2)
		wantSent(3)
		cancel()
		b.want(context.Canceled, false, 4)
		wantSent()
		peer.answer(1, 3)
		b.want(nil, false, 1, 3)
		wantSent(5, 6)
		time.Sleep(time.Second)
		b.want(context.DeadlineExceeded, true, 6)
		wantSent(7)
		peer.answer(6) // too late
		b.want(nil, false)
		cancelOther()
		b.want(context.Canceled, true, 7)
		wantSent(8)
		if err := c.Submit(t.Context(), callOf(7, 0), never); !errors.Is(err, oncrpc.ErrXIDInUse) {
			t.Errorf("XID of a Call that was given up: %v", err)
		}
		b.submit(t.Context(), 0, 9)
		if err := c.Submit(t.Context(), callOf(9, 0), never); !errors.Is(err, oncrpc.ErrXIDInUse) {
			t.Errorf("XID of a Call that waits: %v", err)
		}
		b.submit(t.Context(), 0, 10)
		wantSent()
		_ = c.Close()
		for xid, run := range map[uint32]bool{5: true, 8: true, 9: false, 10: false} {
			var ce *oncrpc.CallError
			if err := b.ended[xid]; !errors.Is(err, oncrpc.ErrClosed) || !errors.As(err, &ce) || ce.MayHaveRun != run {
				t.Errorf("Call %d ended with %v; may have run: %v", xid, err, run)
			}
		}
		if len(b.ended) != 4 {
			t.Errorf("%d Calls ended with the connection, want 4", len(b.ended))
		}
		wantError(t, c.Submit(t.Context(), callOf(12, 0), never), oncrpc.ErrClosed, false)
	})
}

// Calls that done functions submit leave in one write, which follows all done functions for one
// read. Calls of other goroutines are not held back by that.
func TestCallsOfDoneFunctionsLeaveTogether(t *testing.T) {
	const calls = 40
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := dial(t, ln.Addr().String(), &tcp.Config{Logger: quiet})
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	_ = peer.SetDeadline(time.Now().Add(time.Minute))
	failed := make(chan error, 2*calls)
	b := make([]byte, 1<<16)
	// The first read of a connection is short.
	if err := c.Submit(t.Context(), callOf(1000, 0), func(_ *oncrpc.Reply, err error) { failed <- err }); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(peer, b[:44]); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Write(answers(1000)); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	for xid := range uint32(calls) {
		next := callOf(xid+calls, 0)
		if err := c.Submit(t.Context(), callOf(xid, 0), func(_ *oncrpc.Reply, err error) {
			failed <- err
			if err := c.Submit(t.Context(), next, func(_ *oncrpc.Reply, err error) { failed <- err }); err != nil {
				failed <- err
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	var xids []uint32
	if _, err := io.ReadFull(peer, b[:44*calls]); err != nil {
		t.Fatal(err)
	}
	for at := 4; at < 44*calls; at += 44 {
		xids = append(xids, binary.BigEndian.Uint32(b[at:]))
	}
	if _, err := peer.Write(answers(xids...)); err != nil {
		t.Fatal(err)
	}
	n, err := peer.Read(b)
	if err != nil || n != 44*calls {
		t.Errorf("the next Calls came in pieces: %d bytes first, want %d; %v", n, 44*calls, err)
	}
	for range calls {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// A Call that is submitted allocates nothing, with a context that may end and a deadline.
func TestSubmitAllocatesNothing(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := tcp.NewConn(ours, &tcp.Config{Logger: quiet})
	defer c.Close()
	go func() {
		call, reply := make([]byte, 44), answers(0)
		for {
			if _, err := io.ReadFull(theirs, call); err != nil {
				return
			}
			copy(reply[4:8], call[4:8])
			if _, err := theirs.Write(reply); err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call, over := callOf(0, 0), make(chan error, 1)
	call.ReplyBuf = make([]byte, 100)
	done := func(_ *oncrpc.Reply, err error) { over <- err }
	xid := uint32(0)
	once := func() {
		xid++
		binary.BigEndian.PutUint32(call.Inline, xid)
		call.Deadline = time.Now().Add(time.Hour)
		if err := c.Submit(ctx, call, done); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		once()
	}
	if n := testing.AllocsPerRun(200, once); n >= 1 {
		t.Errorf("%v allocations a Call", n)
	}
}

// A Client's connection is lost with thousands of submitted Calls in flight. Those that were sent
// and those that waited are made on the next one, which the server answers. Each is completed once,
// and Close waits for all.
func TestSubmittedCallsAreMadeAgain(t *testing.T) {
	const calls = 3000
	var served atomic.Int32
	server := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if n := served.Add(1); n == 50 {
			go r.Conn().(*tcp.Conn).Close()
		} else if n < 50 {
			r.Drop(nil)
			return
		}
		b, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}), nil)
	c, err := tcp.NewClient(server.Addr(), &tcp.ClientConfig{Conn: &tcp.Config{Logger: quiet}, MinBackoff: -1})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2*calls)
	done := func(_ *oncrpc.Reply, err error) { ended <- err }
	for range calls {
		call := callOf(c.XID(), 0)
		call.Deadline = time.Now().Add(time.Minute)
		if err := c.Submit(t.Context(), call, done); err != nil {
			t.Fatal(err)
		}
	}
	for range calls {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Lost != 1 || s.Connects != 2 || s.Retransmissions == 0 {
		t.Errorf("found %+v, want one loss, two connections and retransmissions", s)
	}
	// One whose context is done does not begin.
	over, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, c.Submit(over, callOf(c.XID(), 0), done), context.Canceled, false)
	if len(ended) > 0 {
		t.Error("the done function of a Call that did not begin has run")
	}
	// One that waits for a connection fails at its deadline, and one with Close.
	server.Close()
	waitFor(t, func() bool { return c.Stats().Lost == 2 })
	call := callOf(c.XID(), 0)
	call.Deadline = time.Now().Add(50 * time.Millisecond)
	if err := c.Submit(t.Context(), call, done); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-ended, context.DeadlineExceeded, false)
	if err := c.Submit(t.Context(), callOf(c.XID(), 0), done); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		wantError(t, err, oncrpc.ErrClosed, false)
	default:
		t.Error("Close returned before a Call was completed")
	}
	wantError(t, c.Submit(t.Context(), callOf(c.XID(), 0), never), oncrpc.ErrClosed, false)
	b := tcp.NewBackchannel(nil)
	b.Close()
	wantError(t, b.Submit(t.Context(), callOf(b.XID(), 0), never), oncrpc.ErrClosed, false)
}

// Done functions of a connection run one at a time, also for Calls that a reply, a context and
// a deadline complete, and Close waits for them.
func TestDoneFunctionsRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := played(t, &tcp.Config{NoCancel: true})
		gate, ran := make(chan struct{}), make(chan string, 10)
		submit := func(ctx context.Context, name string, xid uint32, within time.Duration, wait bool) {
			t.Helper()
			call := callOf(xid, 0)
			if within > 0 {
				call.Deadline = time.Now().Add(within)
			}
			if err := c.Submit(ctx, call, func(*oncrpc.Reply, error) {
				if wait {
					<-gate
				}
				ran <- name
			}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		submit(ctx, "context", 1, 0, true)
		submit(t.Context(), "reply", 2, 0, false)
		submit(t.Context(), "deadline", 3, time.Second, false)
		peer.read()
		cancel()
		synctest.Wait()
		peer.answer(2)
		time.Sleep(2 * time.Second)
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		if len(ran) > 0 || len(closed) > 0 {
			t.Errorf("while a done function waits, %d others ran; Close returned: %v", len(ran), len(closed) > 0)
		}
		close(gate)
		for _, want := range []string{"context", "reply", "deadline"} {
			if got := <-ran; got != want {
				t.Errorf("the done function of %q ran, want %q", got, want)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// The deadline of a Call that has its reply does not end a later Call.
func TestDeadlineIsOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := played(t, nil)
		b := &begun{t, c, map[uint32]error{}}
		for xid := range uint32(20) {
			b.submit(t.Context(), time.Second, 100+xid)
			peer.read()
			peer.answer(100 + xid)
			b.want(nil, false, 100+xid)
			b.submit(t.Context(), 0, xid)
		}
		peer.read()
		time.Sleep(2 * time.Second)
		b.want(nil, false)
	})
}
