package tcp_test

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// finished waits until the peer's system knows that our direction of a connection is closed.
func finished(t *testing.T, c net.Conn) {
	t.Helper()
	const finWait2 = 5 // TCP_FIN_WAIT2 of linux/net/tcp_states.h
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() (over bool) {
		_ = raw.Control(func(fd uintptr) {
			info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
			over = err == nil && info&0xff == finWait2
		})
		return over
	})
}

// A new client does not wait for the connections before it in the system's queue whose peers have
// closed them. Those are served a few at a time, in their order, and the oldest are closed if there
// are too many.
func TestNewClientsComeBeforeThoseThatHaveLeft(t *testing.T) {
	const many, kept, served = 300, 256, 4
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var late []net.Conn
	for range many {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(goodCall(7))
		_ = c.(*net.TCPConn).CloseWrite()
		late = append(late, c)
	}
	for _, c := range late {
		finished(t, c)
	}
	honest := dial(t, ln.Addr().String(), nil) // the last in the queue
	var running, most, began atomic.Int64
	leave := make(chan struct{})
	s, err := tcp.Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if xidOf(r) == 7 {
			began.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			<-leave
			running.Add(-1)
		}
		b, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}), &tcp.Config{Logger: quiet, AcceptRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := honest.Call(t.Context(), callOf(8, 0)); err != nil {
		t.Error(err)
	}
	if n := began.Load(); n > served {
		t.Errorf("%d Calls of peers that have left ran before the new client's, want %d at most", n, served)
	}
	waitFor(t, func() bool { return began.Load() == served })
	if st := s.Stats(); st.Conns != served+1 || st.Rejected != many-kept-served {
		t.Errorf("%d connections are up and %d rejected, want %d and %d", st.Conns, st.Rejected, served+1, many-kept-served)
	}
	close(leave)
	answers := 0
	for _, c := range late {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if b, _ := io.ReadAll(c); len(b) > 0 {
			answers++
		}
	}
	if answers != kept+served || began.Load() != kept+served || most.Load() > served {
		t.Errorf("%d answers to %d Calls, want %d; %d ran at a time, want %d at most", answers, began.Load(), kept+served, most.Load(), served)
	}
	waitFor(t, func() bool { return s.Stats().Conns == 1 })
}

// A server that closes does not wait for peers that have left, and closes their connections.
func TestCloseEndsThoseThatHaveLeft(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var late []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(goodCall(7))
		_ = c.(*net.TCPConn).CloseWrite()
		finished(t, c)
		late = append(late, c)
	}
	honest := dial(t, ln.Addr().String(), nil)
	var began atomic.Int64
	s, err := tcp.Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if xidOf(r) == 7 {
			began.Add(1)
			<-r.Context().Done()
		}
		b, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
		r.Reply(oncrpc.Message{Inline: b}, nil)
	}), &tcp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := honest.Call(t.Context(), callOf(8, 0)); err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return began.Load() == 4 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range late {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if b, err := io.ReadAll(c); len(b) > 0 || err == nil && began.Load() != 4 {
			t.Errorf("%d bytes, %v after the end, %d Calls ran", len(b), err, began.Load())
		}
	}
}
