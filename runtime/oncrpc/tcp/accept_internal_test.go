package tcp

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// results is a listener with the results of Accept that a test sends.
type results struct {
	ch     chan any // an error or a net.Conn
	closed chan struct{}
}

func newResults() *results { return &results{make(chan any), make(chan struct{})} }

func (l *results) Accept() (net.Conn, error) {
	select {
	case got := <-l.ch:
		if err, failed := got.(error); failed {
			return nil, err
		}
		return got.(net.Conn), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *results) Close() error   { close(l.closed); return nil }
func (l *results) Addr() net.Addr { return namedAddr("results") }

// remote is a stream that seems to come from an address.
type remote struct {
	net.Conn
	addr namedAddr
}

func (c remote) RemoteAddr() net.Addr { return c.addr }

// Connections from one source share its memory. The share is removed with the last connection.
func TestShareOfASourceGoesWithItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newResults()
		s, err := Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), nil)
		if err != nil {
			t.Fatal(err)
		}
		shares := map[*admission.Share]bool{}
		for range 2 {
			var ends []net.Conn
			for range 2 {
				ours, theirs := net.Pipe()
				ln.ch <- remote{theirs, "192.0.2.1:1"}
				ends = append(ends, ours)
			}
			synctest.Wait()
			for _, c := range s.Conns() {
				shares[c.reserved.share] = true
			}
			for _, c := range ends {
				_ = c.Close()
			}
			synctest.Wait()
		}
		if len(shares) != 2 {
			t.Errorf("four connections, two at a time, had %d shares, want 2", len(shares))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A failure to accept, for example because there are too many open files, does not stop a server.
// The server keeps nothing of a closed connection. After Close it serves no connection, not even
// one that was accepted before.
func TestServerGoesOnAfterAFailureToAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newResults()
		s, err := Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), nil)
		if err != nil {
			t.Fatal(err)
		}
		ln.ch <- errors.New("too many open files")
		ours, theirs := net.Pipe()
		ln.ch <- theirs
		synctest.Wait()
		if _, sources := s.limits.Len(); s.Stats().Conns != 1 || sources != 1 || s.Err() != nil {
			t.Errorf("%+v, %d sources, %v", s.Stats(), sources, s.Err())
		}
		_ = ours.Close()
		synctest.Wait()
		if _, sources := s.limits.Len(); s.Stats().Conns != 0 || sources != 0 {
			t.Errorf("after the connection: %+v, %d sources", s.Stats(), sources)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		ours, theirs = net.Pipe()
		s.open(theirs, false)
		if _, err := ours.Read(make([]byte, 1)); err != io.EOF || s.Stats().Accepted != 1 {
			t.Errorf("after the end: %v, %+v", err, s.Stats())
		}
		_ = ours.Close()
	})
}

// Shutdown returns when the goroutines of all connections have returned: nothing uses a stream
// afterwards, and the server has no connection.
func TestShutdownWaitsForReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newResults()
		s, err := Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), nil)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		defer ours.Close()
		stream := &lingering{theirs, make(chan struct{})}
		ln.ch <- stream
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		if len(done) != 0 {
			t.Error("Shutdown has returned while a stream is read")
		}
		close(stream.release)
		if err := <-done; err != nil || s.Stats().Conns != 0 {
			t.Errorf("%v, %+v", err, s.Stats())
		}
	})
}

// A server whose listener is closed by its owner accepts no more connections, and says so.
func TestServerOfAClosedListenerIsDone(t *testing.T) {
	ln := newResults()
	s, err := Serve(ln, oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Drop(nil) }), nil)
	if err != nil {
		t.Fatal(err)
	}
	close(ln.closed)
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the server is not done")
	}
	if err := s.Err(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want %v", err, net.ErrClosed)
	}
	ln.closed = make(chan struct{}) // for Close
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A client whose server is gone fails at once, although a handler has a Call of that server. Only a
// server waits for its answers.
func TestClientDoesNotWaitForItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		held := make(chan *oncrpc.Request, 1)
		c := NewConn(theirs, &Config{ReverseHandler: oncrpc.HandlerFunc(func(r *oncrpc.Request) { held <- r })})
		b := nullCall(t, 1).Inline
		if _, err := ours.Write(append(appendMark(nil, len(b)), b...)); err != nil {
			t.Fatal(err)
		}
		r := <-held
		_ = ours.Close()
		start := time.Now()
		<-c.Done()
		if took := time.Since(start); took != 0 || c.Err() != ErrPeerClosed {
			t.Errorf("down after %v with %v, want at once with %v", took, c.Err(), ErrPeerClosed)
		}
		r.Drop(nil)
		_ = c.Close()
	})
}

// A Request does not wait for room on a connection that is closed, or on which a write has failed.
func TestNoRoomIsAwaitedAtTheEnd(t *testing.T) {
	for _, broken := range []bool{false, true} {
		c := bare(settings{})
		c.unsent = maxUnsent + 1
		if c.err = oncrpc.ErrClosed; broken {
			c.err, c.out.broken = nil, io.ErrShortWrite
		}
		served := make(chan bool, 1)
		go func() { served <- c.awaitRoom() }()
		select {
		case ok := <-served:
			if ok {
				t.Errorf("a write has failed: %v: the Request is served", broken)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("a write has failed: %v: the Request waits", broken)
		}
	}
}
