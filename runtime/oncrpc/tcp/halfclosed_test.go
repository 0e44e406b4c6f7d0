package tcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// halfClosable is a client's end over pipes whose direction to the server can be closed alone.
type halfClosable struct {
	net.Conn // to write to
	from     *io.PipeReader
}

func (h halfClosable) Read(b []byte) (int, error)      { return h.from.Read(b) }
func (h halfClosable) SetReadDeadline(time.Time) error { return nil }

// A client that closes its direction after its Calls gets the replies that are made soon, over a
// stream that does not say whether the client has closed both. If a handler takes longer, its
// Request.Context is done.
func TestHalfClosedClient(t *testing.T) {
	const limit = 100 * time.Millisecond
	for _, tt := range []struct {
		n     uint32
		after time.Duration // for the last one; the others come before, at equal distances
		want  int
		ends  time.Duration
	}{
		{1, 0, 1, 0},
		{1, limit - 1, 1, limit - 1},
		{20, limit - 1, 20, limit - 1},
		{20, 20 * (limit - 1), 20, 20 * (limit - 1)},
		{1, limit + 1, 0, limit},
		{20, 20 * (limit + 1), 0, limit},
		{0, 0, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			from, to := io.Pipe()
			start := time.Now()
			s := tcp.ServeConn(halfClosable{theirs, from}, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				select {
				case <-time.After(tt.after * time.Duration(xidOf(r)+1) / time.Duration(tt.n)):
					r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
				case <-r.Context().Done():
					r.Drop(nil)
				}
			}), &tcp.Config{Logger: quiet})
			go func() {
				_, _ = to.Write(calls(tt.n))
				_ = to.Close()
			}()
			got, err := io.ReadAll(ours)
			if n := len(got) / len(goodReply(7)); err != nil || n != tt.want || len(got)%len(goodReply(7)) != 0 {
				t.Errorf("%d replies, want %d: %x, %v", n, tt.want, got, err)
			}
			if d := time.Since(start); d != tt.ends || !errors.Is(s.Err(), tcp.ErrPeerClosed) {
				t.Errorf("the connection ended after %v, want %v: %v", d, tt.ends, s.Err())
			}
			_ = s.Close()
		})
	}
}

// Over TCP, a client that closes its direction gets each reply that comes within PeerTimeout after
// the one before. A client that has gone is noticed by then, and one of this package at once.
func TestHalfClosedClientTCP(t *testing.T) {
	for name, tt := range map[string]struct {
		limit time.Duration
		ends  bool // the context of the handler
	}{"slow handler": {-1, false}, "PeerTimeout": {time.Second / 2, true}} {
		contexts := make(chan context.Context, 1)
		answer := make(chan struct{})
		s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			contexts <- r.Context()
			<-answer
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{PeerTimeout: tt.limit, Logger: quiet})
		c := raw(t, s.Addr())
		if _, err := c.Write(goodCall(7)); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		ctx, want := <-contexts, goodReply(7)
		if tt.ends {
			<-ctx.Done()
			want = nil
		} else {
			select {
			case <-ctx.Done():
				t.Error("the context is done")
			case <-time.After(300 * time.Millisecond):
			}
		}
		close(answer)
		if got, err := io.ReadAll(c); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

// A half-closed client that is probed, before or after the end of its stream, has the limit of the
// probe for the next reply. A probe from long before has no effect.
func TestProbeOfAHalfClosedClient(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after time.Duration // limits of probes, or 0
		pause         time.Duration
		ends          bool
	}{
		"none": {}, "before": {before: time.Second, ends: true}, "after": {after: time.Second, ends: true},
		"long before": {before: time.Millisecond, pause: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests, answer := make(chan *oncrpc.Request, 1), make(chan struct{})
			s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				requests <- r
				<-answer
				r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
			}), &tcp.Config{PeerTimeout: -1, Logger: quiet})
			c := raw(t, s.Addr())
			if _, err := c.Write(goodCall(7)); err != nil {
				t.Fatal(err)
			}
			r := <-requests
			conn := r.Conn().(oncrpc.Prober)
			conn.Probe(tt.before)
			time.Sleep(tt.pause)
			_ = c.(*net.TCPConn).CloseWrite()
			conn.Probe(tt.after)
			want := goodReply(7)
			if tt.ends {
				<-r.Context().Done()
				want = nil
			} else {
				select {
				case <-r.Context().Done():
					t.Error("the context is done")
				case <-time.After(300 * time.Millisecond):
				}
			}
			close(answer)
			if got, err := io.ReadAll(c); !bytes.Equal(got, want) {
				t.Errorf("%x, %v", got, err)
			}
		})
	}
}

// At MaxConns a client that has closed its direction, and had no answer for a second, makes room
// for a new one: it may have gone, and a flood of such clients must not keep out others.
func TestHalfClosedClientMakesRoom(t *testing.T) {
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if xidOf(r) == 7 {
			<-r.Context().Done()
		}
		r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
	}), &tcp.Config{MaxConns: 2, PeerTimeout: -1, Logger: quiet})
	for range 2 {
		c := raw(t, s.Addr())
		if _, err := c.Write(goodCall(7)); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
	}
	for deadline := time.Now().Add(leak.Patience()); ; time.Sleep(20 * time.Millisecond) {
		c, err := tcp.Dial(t.Context(), s.Addr(), &tcp.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(t.Context(), callOf(1, 0))
		if _ = c.Close(); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if st := s.Stats(); st.Displaced == 0 {
		t.Errorf("%+v", st)
	}
}

// A client that resets the connection after it has closed its direction is noticed at once,
// whatever PeerTimeout is.
func TestResetOfAHalfClosedClient(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports a reset after the end of a stream")
	}
	contexts := make(chan context.Context, 1)
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		contexts <- r.Context()
		<-r.Context().Done()
		r.Drop(nil)
	}), &tcp.Config{PeerTimeout: -1, Logger: quiet})
	c := raw(t, s.Addr()).(*net.TCPConn)
	if _, err := c.Write(goodCall(7)); err != nil {
		t.Fatal(err)
	}
	ctx := <-contexts
	_ = c.CloseWrite()
	time.Sleep(20 * time.Millisecond) // the server reads the end of the stream
	_ = c.SetLinger(0)
	_ = c.Close()
	select {
	case <-ctx.Done():
	case <-time.After(leak.Patience()):
		t.Fatal("the reset was not noticed")
	}
}

// A client of this package that is closed while it waits resets the connection, so that the server
// need not wait to know that it has gone, also one that cannot read more, and over TLS.
func TestClosedClientEndsItsHandlers(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for name, cfg := range map[string]*tcp.Config{
		"TCP": {Logger: quiet}, "stalled": {MaxRequests: 1, Logger: quiet}, "TLS": secured(a, tcp.TLSRequired),
	} {
		cfg.PeerTimeout = -1
		contexts := make(chan context.Context, 2)
		s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			contexts <- r.Context()
			<-r.Context().Done()
			r.Drop(nil)
		}), cfg)
		c := dial(t, s.Addr(), cfg)
		var calls sync.WaitGroup
		for xid := range uint32(2) {
			calls.Go(func() { _, _ = c.Call(context.Background(), callOf(xid, 0)) })
		}
		ctx := <-contexts
		_ = c.Close()
		select {
		case <-ctx.Done():
		case <-time.After(leak.Patience()):
			t.Fatalf("%s: the handler runs on", name)
		}
		calls.Wait()
	}
}

// A client that closes its direction behind many more Calls than MaxRequests gets all replies.
func TestHalfClosedWhileStalled(t *testing.T) {
	for _, n := range []uint32{3, 100, 5000} { // more than the buffers have, too
		ours, theirs := tcpPair(t)
		_ = theirs.SetDeadline(time.Now().Add(leak.Patience()))
		s := tcp.ServeConn(ours, newService(), &tcp.Config{MaxRequests: 2, Logger: quiet})
		go func() {
			_, _ = theirs.Write(calls(n))
			_ = theirs.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(theirs)
		if have := len(got) / len(goodReply(0)); err != nil || have != int(n) {
			t.Errorf("%d replies, want %d: %v, %v", have, n, err, s.Err())
		}
		_, _ = theirs.Close(), s.Close()
	}
}
