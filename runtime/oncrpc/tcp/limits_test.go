package tcp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// callOf returns a Call of procedure 1 with the XID and n bytes of data, apart from the rest.
func callOf(xid uint32, n int) *oncrpc.Call {
	b, _ := oncrpc.NewCall(xid, 400001, 3, 1, oncrpc.None()).AppendBinary(nil)
	m := oncrpc.Message{Inline: b}
	if n > 0 {
		m.Items = []xdr.Item{{Position: uint64(len(b)), Inline: len(b), Data: make([]byte, n)}}
	}
	return &oncrpc.Call{Message: m}
}

// wantError checks the error of a Call.
func wantError(t *testing.T, err, want error, mayHaveRun bool) {
	t.Helper()
	var ce *oncrpc.CallError
	if !errors.Is(err, want) || !errors.As(err, &ce) || ce.MayHaveRun != mayHaveRun {
		t.Errorf("found %v, want a CallError with %v; may have run: %v", err, want, mayHaveRun)
	}
}

// A peer that reads nothing is cut off by SendTimeout. A Call that waits behind another one leaves
// the queue when it is cancelled, and has not run; the one that is being sent returns at once, too.
func TestPeerNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := tcp.NewConn(ours, &tcp.Config{SendTimeout: 10 * time.Second})
		defer c.Close()
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { // goes out, or tries to
			ctx, stop := context.WithTimeout(context.Background(), time.Second)
			defer stop()
			_, err := c.Call(ctx, callOf(1, 1<<20))
			wantError(t, err, context.DeadlineExceeded, true)
			if d := time.Since(start); d != time.Second {
				t.Errorf("cancelled while it was sent: it took %v", d)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
			defer stop()
			_, err := c.Call(ctx, callOf(2, 0))
			wantError(t, err, context.DeadlineExceeded, false)
		})
		wg.Go(func() {
			_, err := c.Call(context.Background(), callOf(3, 0))
			wantError(t, err, tcp.ErrTimeout, false)
		})
		wg.Wait()
		// The limit began again when the first Call was cancelled.
		if d := time.Since(start); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("the connection ended after %v", d)
		}
		if !errors.Is(c.Err(), tcp.ErrTimeout) {
			t.Error(c.Err())
		}
	})
}

// tcpPair returns both ends of a connection over TCP.
func tcpPair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		defer ln.Close()
		ours, err = net.Dial("tcp", ln.Addr().String())
	}
	if err == nil {
		theirs, err = ln.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// A cancelled Call that was sent in part is sent to its end, from memory of the connection: the
// caller's may change at once.
func TestCancelledHalfSent(t *testing.T) {
	for _, pipe := range []bool{true, false} {
		ours, theirs := net.Pipe()
		if !pipe {
			ours, theirs = tcpPair(t)
		}
		c := tcp.NewConn(ours, &tcp.Config{SendTimeout: -1, NoCancel: true})
		const size = 16 << 20
		call := callOf(1, size)
		ctx, cancel := context.WithCancel(context.Background())
		done, changed := make(chan error, 1), make(chan struct{})
		go func() {
			_, err := c.Call(ctx, call)
			done <- err
			clear(call.Inline)
			for i := range call.Items[0].Data {
				call.Items[0].Data[i] = 0xff
			}
			close(changed)
		}()
		mark := make([]byte, 44)
		if _, err := io.ReadFull(theirs, mark); err != nil {
			t.Fatal(err)
		}
		// A later Call that is cancelled in the queue is not sent at all.
		short, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
		_, err := c.Call(short, callOf(5, 0))
		stop()
		wantError(t, err, context.DeadlineExceeded, false)
		cancel()
		select {
		case err := <-done:
			wantError(t, err, context.Canceled, true)
		case <-time.After(patience):
			_ = theirs.Close()
			t.Fatal("the cancelled Call waits until its peer reads")
		}
		<-changed
		go func() {
			for xid := range uint32(2) {
				_, _ = c.Call(context.Background(), callOf(2+xid, 0))
			}
		}()
		rest := make([]byte, size+44)
		if _, err := io.ReadFull(theirs, rest); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(rest[:size], make([]byte, size)) {
			t.Error("the message changed after its Call had returned")
		}
		if binary.BigEndian.Uint32(rest[size+4:]) != 2 {
			t.Errorf("the next record is %x", rest[size:])
		}
		if _, err := theirs.Write(goodReply(2)); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(theirs, mark); err != nil || binary.BigEndian.Uint32(mark[4:]) != 3 {
			t.Errorf("the record behind it is %x, %v", mark, err)
		}
		_, _ = theirs.Close(), c.Close()
	}
}

// A record that makes no progress times out, and so does a connection without a message.
func TestSlowPeers(t *testing.T) {
	for name, tt := range map[string]struct {
		send  []byte
		after time.Duration
	}{
		"nothing":                   {nil, 5 * time.Second},
		"half a mark":               {[]byte{0x80, 0}, 5 * time.Second},
		"half a record":             {goodCall(1)[:20], 5 * time.Second},
		"a record, and half of one": {append(goodCall(1), goodCall(2)[:20]...), 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			s := tcp.ServeConn(ours, newService(), &tcp.Config{FirstCallTimeout: 5 * time.Second, RecordTimeout: 7 * time.Second, Logger: quiet})
			start := time.Now()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			go func() { _, _ = theirs.Write(tt.send) }()
			<-s.Done()
			if d := time.Since(start); d != tt.after || !errors.Is(s.Err(), tcp.ErrTimeout) {
				t.Errorf("%s: ended after %v: %v", name, d, s.Err())
			}
			_, _ = s.Close(), theirs.Close()
		})
	}
}

// Each 64 KiB of a record must come within RecordTimeout, in however many fragments (RFC 5531 §11).
func TestSlowFragments(t *testing.T) {
	const limit = 30 * time.Second
	fragment := func(n int) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...) }
	for name, tt := range map[string]struct {
		first, each []byte
		ends        bool
	}{
		"too slow":       {fragment(1 << 20), fragment(1), true},
		"slow":           {fragment(1), fragment(40_000), true}, // 40,000 bytes in 29 s
		"not quite fast": {fragment(1), fragment(64<<10 - 16), true},
		"fast enough":    {fragment(1), fragment(64 << 10), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			s := tcp.ServeConn(ours, newService(), &tcp.Config{RecordTimeout: limit, Logger: quiet})
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := theirs.Write(append(goodCall(1), tt.first...))
				for ; err == nil; _, err = theirs.Write(tt.each) {
					time.Sleep(limit - time.Second)
				}
			})
			select {
			case <-s.Done():
			case <-time.After(20 * limit):
			}
			if ended := errors.Is(s.Err(), tcp.ErrTimeout); ended != tt.ends {
				t.Errorf("%s: ended by RecordTimeout: %v, want %v", name, ended, tt.ends)
			}
			_, _ = s.Close(), theirs.Close()
			wg.Wait()
		})
	}
}

// With MaxRequests unanswered the server reads no more, until one is answered. While it calls the
// client it keeps reading, up to as many as a client can have in progress.
func TestMaxRequests(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			var mu sync.Mutex
			var held []*oncrpc.Request
			s := tcp.ServeConn(ours, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				mu.Lock()
				held = append(held, r)
				mu.Unlock()
			}), &tcp.Config{MaxRequests: 4, Logger: quiet})
			s.AllowReverse()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			if reverse {
				go func() { _, _ = s.Call(context.Background(), callOf(1, 0)) }()
			}
			go func() {
				for xid := range uint32(70_000) {
					if _, err := theirs.Write(goodCall(xid)); err != nil {
						return
					}
				}
			}()
			synctest.Wait()
			mu.Lock()
			n, all := len(held), held
			mu.Unlock()
			if reverse {
				if n != 1<<16 || !errors.Is(s.Err(), tcp.ErrLimit) {
					t.Errorf("%d Requests, %v", n, s.Err())
				}
			} else if n != 4 || s.Err() != nil {
				t.Errorf("%d Requests, %v", n, s.Err())
			} else {
				all[0].Drop(nil)
				synctest.Wait()
				mu.Lock()
				if n, all = len(held), held; n != 5 {
					t.Errorf("%d Requests after an answer", n)
				}
				all = all[1:]
				mu.Unlock()
			}
			go func() {
				for range 20 {
					for _, r := range all {
						r.Drop(nil)
					}
					synctest.Wait()
					mu.Lock()
					all = held
					mu.Unlock()
				}
			}()
			_, _ = s.Close(), theirs.Close()
		})
	}
}

// Records of greedy connections leave memory for others, and are given up when no memory is left.
func TestMaxMemory(t *testing.T) {
	s := listen(t, newService(), &tcp.Config{MaxMemory: 6 << 20, RecordTimeout: 300 * time.Millisecond, Logger: quiet})
	honest := dial(t, s.Addr(), nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 20 {
		c := raw(t, s.Addr())
		wg.Go(func() {
			_, _ = c.Write([]byte{0x80, 0x0f, 0, 0}) // nearly all of it
			for _, err := c.Write(make([]byte, 60_000)); err == nil; _, err = c.Write(make([]byte, 10_000)) {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	for range 100 {
		double(t, honest)
		if n := s.Stats().Memory; n > 2<<20 {
			t.Errorf("%d bytes are taken", n)
		}
	}
	close(stop)
	wg.Wait()
}

// A server has no more connections than MaxConns, and from one source no more than MaxPerSource.
func TestMaxConns(t *testing.T) {
	for name, cfg := range map[string]*tcp.Config{"MaxConns": {MaxConns: 2, Logger: quiet}, "MaxPerSource": {MaxPerSource: 2, Logger: quiet}} {
		s, rejection := listen(t, newService(), cfg), record()
		if name == "MaxPerSource" {
			rejection = append(make([]byte, 4), rejection...) // a fragment more
		}
		first, second := dial(t, s.Addr(), nil), dial(t, s.Addr(), nil)
		double(t, first)
		double(t, second)
		use(s)
		third := raw(t, s.Addr())
		_ = third.SetReadDeadline(time.Now().Add(patience))
		if got, err := io.ReadAll(third); err != nil || !bytes.Equal(got, rejection) {
			t.Errorf("%s: a further connection got %x, and then %v, want an empty record and the end", name, got, err)
		}
		double(t, first)
		if st := s.Stats(); st.Accepted != 2 || st.Rejected != 1 || st.Conns != 2 {
			t.Errorf("%s: %+v", name, st)
		}
		_ = second.Close()
		waitFor(t, func() bool { return s.Stats().Conns == 1 })
		double(t, dial(t, s.Addr(), nil))
	}
}

// MaxCalls Calls are in progress; further ones wait, and can be cancelled while they do.
func TestMaxCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := tcp.NewConn(ours, &tcp.Config{MaxCalls: 1})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, 44))
			time.Sleep(2 * time.Second)
			_, _ = theirs.Write(goodReply(1))
		}()
		first := make(chan error)
		go func() {
			_, err := c.Call(context.Background(), callOf(1, 0))
			first <- err
		}()
		synctest.Wait()
		_, err := c.Call(ctx, callOf(2, 0))
		wantError(t, err, context.DeadlineExceeded, false)
		if err := <-first; err != nil {
			t.Error(err)
		}
		_, _ = theirs.Close(), c.Close()
	})
}

// A reply to a Call that is still in the queue answers nothing: the Call stays in progress and is
// sent from its memory.
func TestReplyBeforeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := tcp.NewConn(ours, &tcp.Config{Logger: quiet})
		defer c.Close()
		done := make(chan error, 2)
		call := func(xid uint32, n int) {
			_, err := c.Call(context.Background(), callOf(xid, n))
			done <- err
		}
		go call(1, 1<<20) // is being written
		synctest.Wait()
		go call(2, 1000) // waits in the queue
		synctest.Wait()
		if _, err := theirs.Write(goodReply(2)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a Call ended before it was sent: %v", err)
		default:
		}
		if st := c.Stats(); st.StrayReplies != 1 {
			t.Errorf("%+v", st)
		}
		sizes := []int{4 + 40 + 1<<20, 4 + 40 + 1000}
		for i, size := range sizes {
			if _, err := io.ReadFull(theirs, make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if _, err := theirs.Write(goodReply(uint32(i + 1))); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// A reply goes to Call.ReplyBuf if it fits, even exactly. The capacity of Reply.Message is then its
// length.
func TestReplyBuf(t *testing.T) {
	c := dial(t, listen(t, newService(), nil).Addr(), nil)
	const size = 28 // of the reply
	for _, room := range []int{size - 1, size, size + 1} {
		call := &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(uint32(room))[4:]}, ReplyBuf: make([]byte, room)}
		reply, err := c.Call(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Message) != size {
			t.Fatalf("%d bytes", len(reply.Message))
		}
		if in := &reply.Message[0] == &call.ReplyBuf[0]; in != (room >= size) || in && cap(reply.Message) != size {
			t.Errorf("memory for %d bytes: the reply is there: %v, with room for %d", room, in, cap(reply.Message))
		}
	}
}

// Calls that come during Shutdown are dropped and counted, and those before it are answered.
func TestShutdownDropsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			<-gate
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{Logger: quiet})
		ours := ln.dial()
		if _, err := ours.Write(goodCall(1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		conn := s.Conns()[0]
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		for range 2 {
			if _, err := ours.Write(goodCall(2)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		close(gate)
		if got, err := io.ReadAll(ours); !bytes.Equal(got, goodReply(1)) {
			t.Errorf("found %x, %v, want the reply to the first Call", got, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := conn.Stats().DroppedCalls; n != 2 {
			t.Errorf("%d Calls dropped, want 2", n)
		}
	})
}

// Shutdown completes a Call of the server that is being written: the client sees the stream close
// after a record, not within one.
func TestShutdownCutsNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, newService(), &tcp.Config{Logger: quiet})
		ours := ln.dial()
		synctest.Wait()
		conn := s.Conns()[0]
		conn.AllowReverse()
		called := make(chan error, 1)
		go func() {
			_, err := conn.Call(context.Background(), callOf(7, 1<<20))
			called <- err
		}()
		got := make([]byte, 4+40+1<<20)
		if _, err := io.ReadFull(ours, got[:1<<19]); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		if _, err := io.ReadFull(ours, got[1<<19:]); err != nil {
			t.Errorf("the record is cut: %v", err)
		}
		if n, err := ours.Read(got); n > 0 || err != io.EOF {
			t.Errorf("after the record: %d bytes, %v", n, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantError(t, <-called, oncrpc.ErrClosed, true)
	})
}

// If MaxMemory has no room for a Call within RecordTimeout, the connection is closed, and nothing
// of the Call is left.
func TestNoMemoryForCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, newService(), &tcp.Config{MaxMemory: 3000, RecordTimeout: time.Second, Logger: quiet})
		ours := ln.dial()
		start := time.Now()
		if _, err := ours.Write(goodCall(1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		conn := s.Conns()[0]
		if _, err := io.ReadAll(ours); err != nil || time.Since(start) != time.Second {
			t.Errorf("the connection ended after %v, %v", time.Since(start), err)
		}
		if !errors.Is(conn.Err(), tcp.ErrLimit) {
			t.Error(conn.Err())
		}
		synctest.Wait()
		if st := s.Stats(); st.Conns != 0 || st.Memory != 0 {
			t.Errorf("%+v", st)
		}
		_ = s.Close()
	})
}

// A peer that is being called cannot be kept waiting for memory: its reply could not be read. It
// loses the connection at once.
func TestNoMemoryDuringReverseCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, newService(), &tcp.Config{MaxMemory: 3000, RecordTimeout: time.Second, Logger: quiet})
		ours := ln.dial()
		synctest.Wait()
		conn := s.Conns()[0]
		conn.AllowReverse()
		failed := make(chan error, 1)
		go func() {
			_, err := conn.Call(context.Background(), callOf(7, 4))
			failed <- err
		}()
		if _, err := io.ReadFull(ours, make([]byte, len(goodCall(7)))); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := ours.Write(goodCall(1)); err != nil {
			t.Fatal(err)
		}
		wantError(t, <-failed, tcp.ErrLimit, true)
		if d := time.Since(start); d != 0 {
			t.Errorf("the connection ended after %v", d)
		}
		_ = s.Close()
	})
}

// A Call to a peer whose own Call waits for memory fails both: the reply could not be read.
func TestReverseCallEndsTheWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, newService(), &tcp.Config{MaxMemory: 3000, RecordTimeout: -1, Logger: quiet})
		ours := ln.dial()
		synctest.Wait()
		conn := s.Conns()[0]
		conn.AllowReverse()
		if _, err := ours.Write(goodCall(1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it waits for memory
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := conn.Call(ctx, callOf(7, 4)); !errors.Is(err, tcp.ErrLimit) || time.Since(start) != 0 {
			t.Errorf("the Call ended after %v with %v", time.Since(start), err)
		}
		_ = s.Close()
	})
}

// A Request that waits until replies are written is dropped if the connection is closed.
func TestEndWhileRepliesUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var handled atomic.Int64
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			handled.Add(1)
			<-gate
			r.Reply(oncrpc.Message{Inline: append(goodReply(xidOf(r))[4:], make([]byte, 5<<20)...)}, nil)
		}), &tcp.Config{MaxHandlers: 1, Logger: quiet})
		others := ln.dial() // has the other place
		ours := ln.dial()
		for _, c := range []net.Conn{others, ours} {
			if _, err := c.Write(calls(3)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		before := handled.Load()
		close(gate)
		synctest.Wait()
		made := handled.Load()
		_, _ = others.Close(), ours.Close()
		synctest.Wait()
		if handled.Load() != made || before == 0 || made == 6 {
			t.Errorf("%d Requests handled, %d and %d before the connections ended", handled.Load(), before, made)
		}
		_ = s.Close()
	})
}
