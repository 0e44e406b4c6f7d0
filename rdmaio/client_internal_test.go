package rdmaio

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// In each field of ClientConfig, zero means the default and a negative value means no limit. The
// caller's value stays as it is.
func TestClientSettings(t *testing.T) {
	type numbers struct {
		dial, least, most, stuck, idle, version time.Duration
		failures, retransmits, connections      int
	}
	of := func(c ClientConfig) numbers {
		return numbers{
			c.DialTimeout, c.MinBackoff, c.MaxBackoff, c.StuckTimeout, c.IdleTimeout, c.VersionMemory,
			c.DialFailures, c.Retransmits, c.Connections,
		}
	}
	to := func(n numbers) *ClientConfig {
		return &ClientConfig{
			DialTimeout: n.dial, MinBackoff: n.least, MaxBackoff: n.most, StuckTimeout: n.stuck, IdleTimeout: n.idle, VersionMemory: n.version,
			DialFailures: n.failures, Retransmits: n.retransmits, Connections: n.connections,
		}
	}
	def := numbers{10 * time.Second, 100 * time.Millisecond, 30 * time.Second, 10 * time.Second, 5 * time.Minute, 10 * time.Minute, -1, 4, 1}
	for _, tt := range []struct{ cfg, want numbers }{
		{numbers{}, def},
		{numbers{-1, -1, -1, -1, -1, -1, -1, -1, -1}, numbers{connections: 1}},
		{numbers{1, 2, 3, 4, 5, 6, 7, 8, 9}, numbers{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{numbers{least: 30 * time.Second, connections: 2}, numbers{def.dial, def.most, def.most, def.stuck, def.idle, def.version, -1, 4, 2}},
	} {
		cfg := to(tt.cfg)
		got, err := cfg.settled()
		if err != nil || of(got) != tt.want {
			t.Errorf("%+v becomes %+v, %v, want %+v", tt.cfg, of(got), err, tt.want)
		}
		if of(*cfg) != tt.cfg {
			t.Errorf("the caller's configuration becomes %+v", of(*cfg))
		}
	}
	if got, err := (*ClientConfig)(nil).settled(); err != nil || of(got) != def {
		t.Errorf("nil becomes %+v, %v", of(got), err)
	}
	if _, err := to(numbers{least: 31 * time.Second}).settled(); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("a first pause longer than the longest: %v", err)
	}
}

// clientOf returns a Client for tests that drive it, which Close need not end.
func clientOf(t *testing.T, cfg ClientConfig) *Client {
	t.Helper()
	dev, err := mem.New(nil).Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(dev, "server:1", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), dev.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Each client begins at another XID, so that a server's reply cache does not mistake the Calls of
// one that was restarted.
func TestClientsHaveXIDsOfTheirOwn(t *testing.T) {
	seen := map[uint32]bool{}
	for range 8 {
		seen[clientOf(t, ClientConfig{}).XID()] = true
	}
	if len(seen) < 7 {
		t.Errorf("8 Clients begin with %d XIDs", len(seen))
	}
}

// NewClient takes over what the configuration says.
func TestClientHasItsSettings(t *testing.T) {
	c := clientOf(t, ClientConfig{Connections: 5, VersionMemory: time.Second, Conn: &Config{Versions: []int{2, 1}}})
	if c.cfg.Connections != 5 || c.versions.keep != time.Second || c.versions.begin() != 2 {
		t.Errorf("%d connections, a memory of %v, version %d first", c.cfg.Connections, c.versions.keep, c.versions.begin())
	}
}

// Close returns the errors of all connections that it has closed, each time.
func TestClientCloseReturnsErrors(t *testing.T) {
	errs := []error{errors.New("the first"), errors.New("the second")}
	var conns []*Conn
	for _, err := range errs {
		conn, s := scriptedConn(t, 1, nil)
		conn.caller.slots.allow(0)
		conn.set.calls, s.credits = 1, 1
		refresh(conn)
		conn.closing.Do(func() { conn.closeErr = err }) // as when its memory could not be freed
		conns = append(conns, conn)
	}
	c := givenClient(t, ClientConfig{Connections: 2}, conns...)
	for range conns {
		if _, err := c.pool.Acquire(context.Background(), false); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		err := c.Close()
		for _, want := range errs {
			if !errors.Is(err, want) {
				t.Errorf("Close returned %v, want %v among its errors", err, want)
			}
		}
	}
	if _, err := c.pool.Acquire(context.Background(), false); !errors.Is(err, ErrClosed) {
		t.Errorf("a Call after Close: %v", err)
	}
	if s := c.Stats(); s.Connects != 2 || s.Lost != 0 {
		t.Errorf("%+v, want that Close loses no connection", s)
	}
	c.pool = clientOf(t, ClientConfig{}).pool // for the end of the test
}
