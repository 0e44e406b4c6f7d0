package admission

import (
	"slices"
	"time"
)

const (
	// lookTime is the time between two looks at what waits, and at what keeps memory from it.
	lookTime = 125 * time.Millisecond

	// recallTime is the time for which a handler without a bound may keep its part of the reserve
	// from others before it replies. It may wait for its client, or for one of those that wait.
	recallTime = time.Second
)

// watch calls look after lookTime, because something waits. b.mu must be held.
func (b *Budget) watch() {
	b.collect()
	if !b.looking {
		b.looking = true
		time.AfterFunc(lookTime, b.look)
	}
}

// look gives memory to those that wait and can have it, and asks for more. It runs every lookTime
// while something waits.
func (b *Budget) look() {
	b.mu.Lock()
	if b.looking = b.bytes.n+b.reserve.n > 0; !b.looking {
		b.mu.Unlock()
		return
	}
	time.AfterFunc(lookTime, b.look)
	b.sweep()
	b.collect()
	ready := b.ready(b.reserve.n)
	var waiting []any
	if b.Relief != nil {
		add := func(w *Waiter) { waiting = append(waiting, w.Owner) }
		b.bytes.each(b.bytes.n, add)
		b.reserve.each(b.reserve.n, add)
	}
	b.mu.Unlock()
	for _, w := range ready {
		w.Call()
	}
	if len(waiting) > 0 {
		b.Relief(waiting)
	}
	b.Recall(time.Now().Add(-recallTime))
}

// admit takes memory of their shares for the first Tickets that wait for a part of the reserve,
// where there is room by now, and appends their Waiters, which must be called, to a list. It looks
// at n Tickets. b.mu must be held.
func (b *Budget) admit(ready []*Waiter, n int) []*Waiter {
	b.reserve.each(n, func(w *Waiter) {
		if w.more && w.ticket.more(w.need) || !w.more && w.ticket.bind(w.need) {
			w.ticket.promised = w.more
			w.leave()
			ready = append(ready, w)
		}
	})
	return ready
}

// Stuck reports whether a connection keeps memory from others: n bytes of replies are not written,
// and the peer has not taken the size bytes of the present write since a time. It may take as long
// as a peer does that reads 512 KiB/s.
func Stuck(n, size int, since, now time.Time) bool {
	const kept, unit, unitTime = 64 << 10, 256 << 10, 500 * time.Millisecond
	units := max(1, (size+unit-1)/unit)
	return n >= kept && !since.IsZero() && now.Sub(since) >= time.Duration(units)*unitTime
}

// Relieve ends connections that keep memory without need, because others wait: those for which
// stuck returns a size, which end gets, too. It ends none if all that wait are stuck themselves.
func Relieve[C any](waiting []any, conns []C, stuck func(C) int, end func(C, int)) {
	if !slices.ContainsFunc(waiting, func(o any) bool { return stuck(o.(C)) == 0 }) {
		return
	}
	for _, c := range conns {
		if n := stuck(c); n > 0 {
			end(c, n)
		}
	}
}
