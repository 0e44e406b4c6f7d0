package udp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// raw returns a socket that is connected to a server.
func raw(t testing.TB, addr string) *net.UDPConn {
	t.Helper()
	at, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	sock, err := net.DialUDP("udp", nil, at)
	if err != nil {
		t.Fatal(err)
	}
	_ = sock.SetReadDeadline(time.Now().Add(leak.Patience()))
	t.Cleanup(func() { _ = sock.Close() })
	return sock
}

// A datagram other than a Call gets no answer, not even if it is a reply or a truncated Call,
// because two servers could otherwise be made to answer each other.
func TestGarbageGetsNoAnswer(t *testing.T) {
	s := listen(t, "127.0.0.1:0", newService(), nil)
	sock := raw(t, s.Addr())
	whole := call(t, 7, 1)
	n := uint64(0)
	for _, b := range [][]byte{
		nil,
		{0},
		[]byte("GET / HTTP/1.1\r\n"), bytes.Repeat([]byte{0xff}, 60_000), reply(t, 7),
		append(reply(t, 7), make([]byte, 100)...), whole[:8], whole[:39],
	} {
		if _, err := sock.Write(b); err != nil {
			t.Fatal(err)
		}
		n++
	}
	waitFor(t, func() bool { return s.Stats().Garbage == n })
	if _, err := sock.Write(append(whole, 0, 0, 0, 21)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if size, err := sock.Read(b); err != nil || size != 28 || b[27] != 42 { // the first answer
		t.Errorf("%x, %v", b[:size], err)
	}
	if st := s.Stats(); st.Calls != 1 {
		t.Errorf("%+v", st)
	}
}

// A Call that comes again while the first is in progress is ignored, and one that comes later gets
// the reply of a cache. The handler runs once.
func TestRepeatedCallRunsOnce(t *testing.T) {
	gate, open := context.WithCancel(t.Context())
	runs := make(chan struct{}, 10)
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		runs <- struct{}{}
		<-gate.Done()
		r.Reply(oncrpc.Message{Inline: reply(t, xidOf(r.Message))}, nil)
	})
	s := listen(t, "127.0.0.1:0", replycache.New(h, nil), nil)
	sock := raw(t, s.Addr())
	send := func() {
		if _, err := sock.Write(call(t, 9, 1)); err != nil {
			t.Error(err)
		}
	}
	for range 5 {
		send()
	}
	waitFor(t, func() bool { return s.Stats().Repeated == 4 })
	open()
	b := make([]byte, 100)
	for range 4 {
		n, err := sock.Read(b)
		// The server may not have finished the Call when its reply arrives.
		for errors.Is(err, os.ErrDeadlineExceeded) {
			send()
			_ = sock.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			n, err = sock.Read(b)
		}
		if err != nil || !bytes.Equal(b[:n], reply(t, 9)) {
			t.Errorf("%x, %v", b[:n], err)
		}
		_ = sock.SetReadDeadline(time.Unix(1, 0))
	}
	if len(runs) != 1 {
		t.Errorf("the handler ran %d times", len(runs))
	}
}

// A reply that does not fit in a datagram is SYSTEM_ERR, and the handler gets the reason. The
// longest one arrives.
func TestLongReply(t *testing.T) {
	var log buffer
	s := listen(t, "127.0.0.1:0", newService(), &udp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := rpc.NewClient(dial(t, s.Addr(), once), program, nil)
	const most = (udp.MaxMessage - 24) &^ 3
	for size, want := range map[oncrpc.Uint32]error{most: nil, most + 4: oncrpc.ErrSystem, 1 << 20: oncrpc.ErrSystem} {
		var res zeros
		err := c.Call(soon(t), 2, &size, &res, nil)
		if !errors.Is(err, want) || err == nil && res != zeros(size) {
			t.Errorf("%d bytes: %v, %d came", size, err, res)
		}
	}
	if !strings.Contains(log.String(), udp.ErrSize.Error()) {
		t.Errorf("the log is %s", log.String())
	}
}

// buffer is a log that is read while a server writes to it.
type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *buffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// If a handler panics or exits its goroutine, its Conn is closed. The server stays up, and the
// client's next Call has another Conn.
func TestPanicOfAHandlerClosesItsConn(t *testing.T) {
	var log buffer
	conns := make(chan oncrpc.Conn, 1)
	die := map[uint32]func(){2: func() { panic("a fault of the handler") }, 3: runtime.Goexit}
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		_, _, proc, _ := oncrpc.Procedure(r.Message)
		if f := die[proc]; f != nil {
			conns <- r.Conn()
			f()
		}
		newService().ServeRPC(r)
	})
	s := listen(t, "127.0.0.1:0", h, &udp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := dial(t, s.Addr(), once)
	for proc := range die {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), proc)}})
			done <- err
		}()
		conn := <-conns
		<-conn.Done()
		if !errors.Is(conn.Err(), oncrpc.ErrPanic) {
			t.Error(conn.Err())
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		double(t, c)
	}
	if n := strings.Count(log.String(), "a handler panicked"); n != 2 {
		t.Errorf("%d panics in the log: %s", n, log.String())
	}
	err := rpc.NewClient(c, program, nil).Call(soon(t), 4, nil, nil, nil) // of a procedure
	if !errors.Is(err, oncrpc.ErrProcUnavail) && !errors.Is(err, oncrpc.ErrSystem) {
		t.Error(err)
	}
}

// Close cancels the handlers' contexts, and their replies are sent. Calls that arrive during Close
// are ignored.
func TestServerClose(t *testing.T) {
	s, err := udp.Listen(context.Background(), "127.0.0.1:0", newService(), &udp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s.Addr(), once)
	done := make(chan error, 1)
	go func() { done <- rpc.NewClient(c, program, nil).Call(soon(t), 3, nil, nil, nil) }()
	waitFor(t, func() bool { return s.Stats().Calls == 1 })
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Shutdown lets handlers answer, with their contexts, and takes no more Calls. If its context is
// done first, it says how many are not answered, and Close cancels them.
func TestShutdownWaitsForHandlers(t *testing.T) {
	for _, patient := range []bool{true, false} {
		began, release := make(chan context.Context, 1), make(chan struct{})
		s, err := udp.Listen(t.Context(), "127.0.0.1:0", oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			began <- r.Context()
			select {
			case <-release:
			case <-r.Context().Done():
			}
			b, _ := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
			r.Reply(oncrpc.Message{Inline: b}, nil)
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, s.Addr(), once)
		answered := make(chan error, 1)
		go func() {
			_, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
			answered <- err
		}()
		handler := <-began
		if s.Err() != nil {
			t.Errorf("before the shutdown: %v", s.Err())
		}
		ctx, cancel := context.WithCancelCause(soon(t))
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(ctx) }()
		<-s.Done()
		if s.Err() != oncrpc.ErrClosed || handler.Err() != nil {
			t.Errorf("during the shutdown: %v, and the handler's context has %v", s.Err(), handler.Err())
		}
		why := errors.New("no patience")
		if patient {
			close(release)
			why = nil
		} else {
			cancel(why)
		}
		if err := <-down; !errors.Is(err, why) || err != nil && !strings.Contains(err.Error(), "have not answered 1 Calls") {
			t.Errorf("shutdown: %v, expected %v", err, why)
		}
		if err := s.Close(); err != nil || handler.Err() == nil {
			t.Errorf("close: %v, and the handler's context has %v", err, handler.Err())
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		cancel(nil)
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The error of a Call without an answer says what may be the reason, and the error of a cancelled
// Call does not.
func TestUnansweredCallNamesTheLimits(t *testing.T) {
	sock, err := net.ListenPacket("udp", "127.0.0.1:0") // which nothing reads
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	c := dial(t, sock.LocalAddr().String(), often)
	for want, limit := range map[error]func(time.Duration) (context.Context, context.CancelFunc){
		context.DeadlineExceeded: func(d time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), d)
		},
		context.Canceled: func(d time.Duration) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(d, cancel)
			return ctx, cancel
		},
	} {
		for d := 50 * time.Millisecond; ; d *= 2 {
			ctx, cancel := limit(d)
			_, err := c.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}})
			cancel()
			var ce *oncrpc.CallError
			if errors.As(err, &ce) && !ce.MayHaveRun && d < time.Minute {
				continue // it was not sent in time
			}
			if !errors.Is(err, want) || strings.Contains(err.Error(), "Config.MaxRequests") != (want == context.DeadlineExceeded) {
				t.Error(err)
			}
			break
		}
	}
}

// MaxRequests bounds the handlers, and one source gets as many as remain. The Calls beyond are
// answered when they are sent again.
func TestMaxRequests(t *testing.T) {
	gate, open := context.WithCancel(t.Context())
	var mu sync.Mutex
	running, most := 0, 0
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		<-gate.Done()
		mu.Lock()
		running--
		mu.Unlock()
		r.Reply(oncrpc.Message{Inline: reply(t, xidOf(r.Message))}, nil)
	})
	log := new(lines)
	s := listen(t, "127.0.0.1:0", h, &udp.Config{MaxRequests: 7, Logger: slog.New(slog.NewTextHandler(log, nil))})
	c := dial(t, s.Addr(), often)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := c.Call(soon(t), &oncrpc.Call{Message: oncrpc.Message{Inline: call(t, c.XID(), 1)}}); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { st := s.Stats(); return st.Calls == 4 && st.Excess >= 16 })
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return running == 4 })
	open()
	calls.Wait()
	mu.Lock()
	defer mu.Unlock()
	if most != 4 {
		t.Errorf("%d handlers of one source, want 4 of 7", most)
	}
	if text := log.String(); !strings.Contains(text, "limit=Config.MaxRequests") {
		t.Errorf("the log does not name the limit: %s", text)
	}
}

// At a wildcard address, a reply comes from the address that the Call went to, over IPv4 and IPv6:
// the sockets of the clients are connected and receive from there alone.
func TestReplyComesFromTheAddressOfItsCall(t *testing.T) {
	if runtime.GOOS != "linux" {
		if s, err := udp.Listen(context.Background(), ":0", newService(), nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Error(s, err)
		}
		return
	}
	locals := make(chan string, 1)
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		locals <- r.Conn().(interface{ LocalAddr() string }).LocalAddr()
		newService().ServeRPC(r)
	})
	for _, tt := range []struct {
		listen string
		hosts  []string
	}{
		{"0.0.0.0:0", []string{"127.0.0.1", "127.0.0.2", "127.9.8.7"}},
		{"[::]:0", []string{"127.0.0.1", "127.0.0.2", "[::1]"}},
	} {
		s := listen(t, tt.listen, h, nil)
		port := netip.MustParseAddrPort(s.Addr()).Port()
		for _, host := range tt.hosts {
			if host == "[::1]" {
				needs(t, host)
			}
			at := netip.AddrPortFrom(netip.MustParseAddr(strings.Trim(host, "[]")), port).String()
			double(t, dial(t, at, once)) // a handler would wait to report further ones
			if t.Failed() {
				return
			}
			if local := <-locals; local != at {
				t.Errorf("at %s, LocalAddr is %s", at, local)
			}
		}
	}
}

// A server without a handler, and one at an address of another host, is refused.
func TestListenRefused(t *testing.T) {
	if s, err := udp.Listen(context.Background(), "127.0.0.1:0", nil, nil); err == nil {
		t.Error(s)
	}
	if s, err := udp.Listen(context.Background(), "192.0.2.77:0", newService(), nil); err == nil {
		t.Error(s)
	}
}

// A client's Requests in progress share one Conn, which is down when they are answered.
func TestConnOfRequests(t *testing.T) {
	requests := make(chan *oncrpc.Request, 3)
	s := listen(t, "127.0.0.1:0", oncrpc.HandlerFunc(func(r *oncrpc.Request) { requests <- r }), nil)
	a, b := raw(t, s.Addr()), raw(t, s.Addr())
	for i, sock := range []*net.UDPConn{a, a, b} {
		if _, err := sock.Write(call(t, uint32(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	all := map[uint32]*oncrpc.Request{}
	for range 3 {
		r := <-requests
		all[xidOf(r.Message)] = r
	}
	first := all[0].Conn()
	if all[1].Conn() != first || all[2].Conn() == first || first.RemoteAddr() != a.LocalAddr().String() {
		t.Errorf("the Conns are of %s, %s and %s", first.RemoteAddr(), all[1].Conn().RemoteAddr(), all[2].Conn().RemoteAddr())
	}
	all[0].Drop(nil)
	if first.Err() != nil {
		t.Error(first.Err())
	}
	all[1].Drop(nil)
	if !errors.Is(first.Err(), udp.ErrIdle) {
		t.Error(first.Err())
	}
	all[2].Drop(nil)
}
