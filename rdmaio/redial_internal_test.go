package rdmaio

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Pauses differ at random, by at most half, so that the clients of a lost server do not all
// reconnect at once.
func TestBackoffJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{changed: make(chan struct{})}
		c.cfg.MinBackoff, c.cfg.MaxBackoff = time.Second, time.Minute
		seen := map[time.Duration]bool{}
		for range 50 {
			c.pause = 0
			c.backOff(errors.New("no server"), 1)
			pause := time.Until(c.next)
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
