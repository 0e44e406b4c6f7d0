package rdmaiotest

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// ServerConn is the server's end of the only connection.
func ServerConn(t *testing.T, s *rdmaio.Server) *rdmaio.Conn {
	t.Helper()
	all := s.Conns()
	for range 2000 { // it is listed when its accept is over, which may be after the first Call
		if len(all) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
		all = s.Conns()
	}
	if len(all) != 1 {
		t.Fatalf("%d connections", len(all))
	}
	return all[0]
}

// AwaitStats waits for Stats that are right: they may lag behind what a Call has seen.
func AwaitStats(t *testing.T, c *rdmaio.Conn, right func(*rdmaio.Stats) bool) {
	t.Helper()
	st := c.Stats()
	for deadline := time.Now().Add(10 * time.Second); !right(&st); st = c.Stats() {
		if time.Now().After(deadline) {
			t.Errorf("%+v", st)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// AwaitMemory waits until the server uses no memory.
func AwaitMemory(t *testing.T, s *rdmaio.Server) {
	t.Helper()
	for deadline := time.Now().Add(peertest.Patience); s.Stats().Memory != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are in use", s.Stats().Memory)
		}
	}
}
