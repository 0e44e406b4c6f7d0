package rdmaio

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Pauses differ at random, by at most half, so that the clients of a lost server do not all
// reconnect at once.
func TestBackoffJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := &ClientConfig{MinBackoff: time.Second, MaxBackoff: time.Minute}
		seen := map[time.Duration]bool{}
		for range 50 {
			var b backoff
			b.pause(cfg)
			pause := time.Until(b.next)
			if pause < time.Second/2 || pause > time.Second {
				t.Errorf("a pause of %v, want half a second to a second", pause)
			}
			seen[pause] = true
		}
		if len(seen) < 40 {
			t.Errorf("50 pauses have %d lengths", len(seen))
		}
	})
}

// A connection is useless if cancelled Calls leave none to make, whatever else the peer sends, or
// if nothing comes from it. In version 2 there may be more credits than Calls (R169).
func TestStall(t *testing.T) {
	for _, c := range []struct {
		name                     string
		abandoned, granted, most int
		silent, want             bool
	}{
		{"no cancelled Call", 0, 8, 8, true, false},
		{"one of eight", 1, 8, 8, false, false},
		{"one of eight, nothing comes", 1, 8, 8, true, true},
		{"all credits", 4, 4, 8, false, true},
		{"all Calls of version 2", 8, 20, 8, false, true},
	} {
		var s stall
		now := Stats{Abandoned: c.abandoned}
		now.Granted = c.granted
		// Looks are half a StuckTimeout apart: when the third in a row finds a useless connection,
		// it has been one for StuckTimeout at least.
		for look := 1; look <= 4; look++ {
			if !c.silent {
				now.Received++
			}
			if got, want := s.look(&now, c.most), c.want && look >= 3; got != want {
				t.Errorf("%s: at look %d useless is %v, want %v", c.name, look, got, want)
			}
		}
		if now.Abandoned = 0; s.look(&now, c.most) { // a late reply
			t.Errorf("%s: useless without a cancelled Call", c.name)
		}
		if now.Abandoned = c.abandoned; s.look(&now, c.most) || s.look(&now, c.most) {
			t.Errorf("%s: useless before StuckTimeout has passed again", c.name)
		}
	}
}

// While it is not known whether a connection that ended was useful, the Client makes no attempt to
// connect: there may have to be a pause.
func TestNoDialBeforeJudgement(t *testing.T) {
	c := &Client{ctx: t.Context(), links: links{most: 2, queue: []*waiter{{}}}}
	for watchers, want := range []bool{true, false} {
		c.watchers = watchers
		if got := c.wanted(); got != want {
			t.Errorf("%d ended connections are looked into: a connection is wanted %v, want %v", watchers, got, want)
		}
	}
}

// A Call that waits for a credit is not failed by attempts to connect that failed before there was
// a connection, even if it sees both at once.
func TestWaitAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{ctx: t.Context(), changed: make(chan struct{}), links: links{most: 1}, running: true}
		var got *link
		var err error
		returned := make(chan bool)
		go func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			got, err = c.wait(context.Background())
			close(returned)
		}()
		synctest.Wait()
		up := &link{conn: &Conn{host: host{ctx: t.Context()}}}
		c.mu.Lock()
		c.failures += uint64(c.cfg.DialFailures) + 1
		c.links.all = append(c.links.all, up)
		c.news()
		c.mu.Unlock()
		synctest.Wait()
		select {
		case <-returned:
			t.Fatalf("it has %v, %v, must wait", got, err)
		default:
		}
		c.creditsChanged()
		if <-returned; got != up || err != nil {
			t.Errorf("after a credit it has %v, %v", got, err)
		}
	})
}
