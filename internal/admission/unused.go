package admission

import (
	"iter"
	"slices"
	"time"
)

// LeastUnused is the time for which a connection must be unused before it makes room for another
// one. A client that makes one Call after the other is without one for an instant again and again,
// and the first Call of a new connection may be on its way.
const LeastUnused = time.Second

// Unused finds the connections of a server, of type C, that have been unused for longest: they are
// closed after a time, or make room for new ones. Its caller has a lock for it.
type Unused[C comparable] struct {
	// Since returns the time since when a connection is unused. ok is false while it is in use.
	Since func(C) (since time.Time, ok bool)

	next []rest[C] // found by the last look, the one unused for longest at the end
	busy time.Time // when a look found none
}

// rest is a connection that is unused.
type rest[C comparable] struct {
	conn  C
	since time.Time
}

// mostFound is the number of connections that one look keeps, so that a flood of new connections
// does not make the server look at all others for each.
const mostFound = 64

// lookPause is the time after a look that has found nothing in which there is no other.
const lookPause = 100 * time.Millisecond

// Longest returns the connection among all that has been unused for longest, and for LeastUnused.
// It looks at all once for mostFound answers: a connection that was used in the meantime is passed
// over.
func (u *Unused[C]) Longest(all iter.Seq[C], now time.Time) (c C, ok bool) {
	for range 2 {
		for n := len(u.next); n > 0; n = len(u.next) {
			r := u.next[n-1]
			u.next = u.next[:n-1]
			if since, ok := u.Since(r.conn); ok && since.Equal(r.since) {
				return r.conn, true
			}
		}
		if !u.busy.IsZero() && now.Sub(u.busy) < lookPause {
			break
		}
		if u.look(all, now); len(u.next) == 0 {
			u.busy = now
			break
		}
	}
	return c, false
}

// look finds the connections that have been unused for longest.
func (u *Unused[C]) look(all iter.Seq[C], now time.Time) {
	found := u.next[:0]
	longestLast := func(a, b rest[C]) int { return b.since.Compare(a.since) }
	for c := range all {
		if since, ok := u.Since(c); ok && now.Sub(since) >= LeastUnused {
			if found = append(found, rest[C]{c, since}); len(found) == 2*mostFound {
				slices.SortFunc(found, longestLast)
				found = slices.Delete(found, 0, mostFound)
			}
		}
	}
	slices.SortFunc(found, longestLast)
	u.next = slices.Delete(found, 0, max(len(found)-mostFound, 0))
}

// Forget forgets a connection that is down, so that its memory is free.
func (u *Unused[C]) Forget(c C) {
	u.next = slices.DeleteFunc(u.next, func(r rest[C]) bool { return r.conn == c })
}

// Expired returns the connections among all that are unused for limit or longer, and the time until
// the next look.
func (u *Unused[C]) Expired(all iter.Seq[C], limit time.Duration, now time.Time) (expired []C, next time.Duration) {
	next = limit
	for c := range all {
		since, ok := u.Since(c)
		if !ok {
			continue
		}
		if left := limit - now.Sub(since); left <= 0 {
			expired = append(expired, c)
		} else {
			next = min(next, left)
		}
	}
	return expired, max(next, limit/16)
}
