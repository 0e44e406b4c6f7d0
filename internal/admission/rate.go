package admission

import (
	"sync"
	"time"
)

// Bucket is a token bucket: it yields Rate tokens a second and holds at most as many. It begins
// full. Rate must be positive, and is not changed after the first use.
type Bucket struct {
	Rate int

	mu   sync.Mutex
	left float64
	last time.Time
}

// Reserve takes a token and returns how long the caller must wait for it. Each token that is not
// there yet makes the next caller wait longer.
func (b *Bucket) Reserve(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if b.left--; b.left >= 0 {
		return 0
	}
	return time.Duration(-b.left / float64(b.Rate) * float64(time.Second))
}

// Allow takes a token if there is one, and reports whether it did.
func (b *Bucket) Allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refill(now); b.left < 1 {
		return false
	}
	b.left--
	return true
}

// Return gives back a token that was not used. A bucket that is full stays so.
func (b *Bucket) Return() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left++ // refill knows the limit
}

func (b *Bucket) refill(now time.Time) {
	if b.last.IsZero() {
		b.left = float64(b.Rate)
	} else {
		b.left = min(float64(b.Rate), b.left+now.Sub(b.last).Seconds()*float64(b.Rate))
	}
	b.last = now
}
