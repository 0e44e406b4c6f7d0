package tcp_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// remapped is a listener whose connections seem to come from an address.
type remapped struct {
	net.Listener
	addr atomic.Value // string; empty: the real one
}

// from is a connection that seems to come from an address.
type from struct {
	net.Conn
	addr address
}

func (l *remapped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if addr := l.addr.Load().(string); err == nil && addr != "" {
		c = from{c, address(addr)}
	}
	return c, err
}

func (c from) RemoteAddr() net.Addr { return c.addr }

// address is a net.Addr.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// always answers each Call with success.
var always = oncrpc.HandlerFunc(func(r *oncrpc.Request) {
	b, _ := oncrpc.NewReply(xidOf(r), oncrpc.Success).AppendBinary(nil) // cannot fail
	r.Reply(oncrpc.Message{Inline: b}, nil)
})

// begins makes a Call, and then begins a record with a mark, sends n bytes and no more. The
// function that it returns closes the connection.
func begins(t *testing.T, c net.Conn, mark uint32, n int) (end func()) {
	reply := make([]byte, 28)
	if _, err := c.Write(goodCall(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, reply); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, 1<<31|mark), make([]byte, n)...)) })
	t.Cleanup(func() { _ = c.Close(); wg.Wait() })
	return func() { _ = c.Close() }
}

// Whatever the records of greedy connections are, one after the other, clients that were there and
// new ones are served, with Calls that need memory too: each connection from this machine leaves
// memory to others, and all from one address together.
func TestGreedyConnectionsLeaveMemory(t *testing.T) {
	for name, addr := range map[string]string{"from this machine": "", "from one address": "192.0.2.1:1"} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l := &remapped{Listener: ln}
			l.addr.Store("")
			if addr != "" {
				l.addr.Store("192.0.2.2:1")
			}
			// Requests have 256 MiB.
			s, err := tcp.Serve(l, always, &tcp.Config{MaxMemory: 768 << 20, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			call := func(c *tcp.Conn) {
				t.Helper()
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
				defer stop()
				if _, err := c.Call(ctx, callOf(c.XID(), 100<<10)); err != nil {
					t.Errorf("with %d bytes in use: %v", s.Stats().Memory, err)
				}
			}
			there := dial(t, s.Addr(), nil)
			call(there)
			l.addr.Store(addr)
			for range 14 {
				begins(t, raw(t, s.Addr()), 16<<20, 2<<20+20_000)
			}
			for range 14 {
				begins(t, raw(t, s.Addr()), 2<<20, 66_600)
			}
			for mark := 1 << 20; mark >= 2<<10; mark /= 2 {
				begins(t, raw(t, s.Addr()), uint32(mark), min(mark-1, 66_600))
				begins(t, raw(t, s.Addr()), uint32(mark), min(mark-1, 66_600))
			}
			// Wait until the server has read what it reads; a slow machine makes the test weaker.
			for last, same := 0, 0; same < 20; time.Sleep(time.Millisecond) {
				if same++; s.Stats().Memory != last {
					last, same = s.Stats().Memory, 0
				}
			}
			if addr != "" {
				l.addr.Store("192.0.2.2:1")
				if n := s.Stats().Memory; n > 128<<20 {
					t.Errorf("one address has %d bytes", n)
				}
			}
			call(there)
			call(dial(t, s.Addr(), nil))
		})
	}
}

// Where the server makes a record wait for memory, the wait does not count for the time in which
// the first Call must come, or for the time of a record.
func TestWaitForMemoryIsNotThePeersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, always, &tcp.Config{MaxMemory: 3 << 20, FirstCallTimeout: time.Second, RecordTimeout: 20 * time.Second, Logger: quiet})
		// One connection has 250 KiB, so that another one cannot have 200 KiB.
		release := begins(t, ln.dial(), 250<<10, 250<<10-1)
		if synctest.Wait(); s.Stats().Memory <= 249<<10 {
			t.Fatalf("%d bytes are in use", s.Stats().Memory)
		}
		c := tcp.NewConn(ln.dial(), nil)
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(t.Context(), callOf(1, 200<<10))
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("the Call returned before memory was free: %v", err)
		case <-time.After(1500 * time.Millisecond): // more than FirstCallTimeout
		}
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_, _ = c.Close(), s.Close()
	})
}
