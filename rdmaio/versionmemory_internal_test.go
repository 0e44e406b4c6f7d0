package rdmaio

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// A version is remembered for its time, new once, and forgotten when asked. Only a version of
// Config.Versions is learnt. Without a memory, no version is.
func TestVersionMemoryLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := &Config{Versions: []int{2, 1}, Credits: 7}
		m := versionMemory{versions: cfg.Versions, keep: time.Minute}
		begins := func(when string, want int, fresh bool) {
			t.Helper()
			if got := m.begin(); got != want {
				t.Errorf("%s: connections begin with version %d, want %d", when, got, want)
			}
			if got := m.takeFresh(); got != fresh || m.takeFresh() {
				t.Errorf("%s: something new was learnt %v, want %v, once", when, got, fresh)
			}
			order := m.config(cfg)
			if !slices.Equal(order.Versions, []int{want, 3 - want}) || order.Credits != 7 || !slices.Equal(cfg.Versions, []int{2, 1}) {
				t.Errorf("%s: Versions are %v, those of the caller %v", when, order.Versions, cfg.Versions)
			}
		}
		begins("at first", 2, false)
		if m.learn(2) || m.learn(3) {
			t.Error("a version was learnt that is known, or not configured")
		}
		begins("after nothing new", 2, false)
		if !m.learn(1) || m.learn(1) {
			t.Error("version 1 must be new once")
		}
		begins("when learnt", 1, true)
		time.Sleep(time.Minute - 1)
		begins("just before the time is over", 1, false)
		time.Sleep(1)
		begins("when the time is over", 2, false)
		if !m.learn(1) || !m.learn(2) {
			t.Error("each change is new")
		}
		begins("when changed again", 2, true)
		m.learn(1)
		m.forget()
		begins("when forgotten", 2, false)
		if m.keep = 0; m.learn(1) {
			t.Error("something was learnt without a memory")
		}
		begins("without a memory", 2, false)
	})
}

// versionClient returns a Client that begins with the first of these versions.
func versionClient(versions ...int) *Client {
	c := &Client{log: slog.New(slog.DiscardHandler)}
	c.versions.versions, c.versions.keep = versions, time.Hour
	return c
}

// A Client learns version 1 from a connection that ended after the server refused version 2 and
// before a reply, and version 2 from a server that refuses a Call of version 1 and names version 2.
func TestClientLearnsVersion(t *testing.T) {
	refuses := func(version, low, high uint32) error {
		return fmt.Errorf("wrapped: %w", &PeerError{Version: version, Code: PeerErrVers, Low: low, High: high})
	}
	lost := errors.New("lost")
	for _, tt := range []struct {
		name    string
		began   []int  // Config.Versions of the connection
		version uint32 // of the connection
		replies uint64
		ended   bool
		err     error
		want    int // 0: nothing is learnt
	}{
		{"lost after the fallback", []int{2, 1}, 1, 0, true, lost, 1},
		{"it stands", []int{2, 1}, 1, 0, false, lost, 0},
		{"lost after a reply", []int{2, 1}, 1, 1, true, lost, 0},
		{"lost with version 2", []int{2, 1}, 2, 0, true, lost, 0},
		{"began with version 1", []int{1, 2}, 1, 0, true, lost, 0},
		{"version 2 only", []int{1, 2}, 1, 0, true, refuses(1, 2, 2), 2},
		{"all versions from 1 to 9", []int{1, 2}, 1, 0, false, refuses(1, 1, 9), 2},
		{"later versions", []int{1, 2}, 1, 0, false, refuses(1, 3, 9), 0},
		{"version 1 only", []int{1, 2}, 1, 0, false, refuses(1, 1, 1), 0},
		{"refused in version 2", []int{1, 2}, 2, 0, false, refuses(2, 2, 2), 0},
		{"another error", []int{1, 2}, 1, 0, false, &PeerError{Version: 1, Code: PeerErrChunk, Low: 2, High: 2}, 0},
	} {
		conn, s := scriptedConn(t, tt.version, nil)
		conn.set.Versions = tt.began
		s.stats.Replies = tt.replies
		refresh(conn)
		if tt.ended {
			conn.cancel(lost)
		}
		// The Client begins with the other version, so that it can learn.
		before := tt.want
		if before == 0 {
			before = tt.began[1]
		}
		c := versionClient(3-before, before)
		c.learnFrom(conn, tt.err)
		if got := c.versions.first; got != tt.want || c.versions.changes.Load() != uint64(min(tt.want, 1)) {
			t.Errorf("%s: learnt is version %d in %d changes, want %d", tt.name, got, c.versions.changes.Load(), tt.want)
		}
	}
}

// When a server accepts version 2 only, a Client that supports it closes its connections of version
// 1, and only those.
func TestTurnEndsVersion1(t *testing.T) {
	only2 := &PeerError{Version: 1, Code: PeerErrVers, Low: 2, High: 2}
	ends := func(s *script) (n int) {
		for _, ev := range s.take() {
			if ev.Kind == engine.EventClose && ev.Err == ErrClosed {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		versions []int
		err      error
		turns    bool
	}{
		{[]int{1, 2}, only2, true},
		{[]int{1}, only2, false},
		{[]int{1, 2}, &PeerError{Version: 1, Code: PeerErrChunk}, false},
	} {
		var conns []*Conn
		var scripts []*script
		for _, version := range []uint32{1, 2, 1, 1} {
			conn, s := scriptedConn(t, version, nil)
			conn.closing.Do(func() {}) // the test frees it
			s.credits, conn.set.calls = 1, 1
			refresh(conn)
			conns, scripts = append(conns, conn), append(scripts, s)
		}
		c := givenClient(t, ClientConfig{Connections: 4, Conn: &Config{Versions: tt.versions}}, conns...)
		for range conns {
			if _, err := c.pool.Acquire(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		c.pool.Discard(func(conn *Conn) bool { return conn == conns[3] }) // it was dropped before
		if got := c.turns(conns[0], tt.err); got != tt.turns {
			t.Errorf("%v after %v: turns is %v", tt.versions, tt.err, got)
		}
		want, left := []int{0, 0, 0, 0}, conns[:3]
		if tt.turns {
			want, left = []int{1, 0, 1, 0}, conns[1:2]
		}
		for i, s := range scripts {
			if n := ends(s); n != want[i] {
				t.Errorf("%v after %v: connection %d was ended %d times, want %d", tt.versions, tt.err, i, n, want[i])
			}
		}
		if got := connsOf(c); !slices.Equal(got, left) {
			t.Errorf("%v after %v: %d connections are left, want %d", tt.versions, tt.err, len(got), len(left))
		}
	}
}
