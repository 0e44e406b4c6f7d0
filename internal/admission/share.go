package admission

import (
	"math"
	"net/netip"
	"sync/atomic"
)

// Share is the part of a Budget that a source of connections has. Join returns it.
//
// While others have nothing, a source may have half of what there is for shares. Otherwise it may
// have less, the more others have: with the limit M, and T that others have not taken, at most x
// bytes so that
//
//	(T - x)² >= 2 x M
//
// which is 27 % of M at most. So n greedy sources leave at least the part 2/(n+3), in whatever
// order they take and give back, and a further one gets the part 2/(n+4)² (ADR 0149).
type Share struct {
	budget *Budget
	source netip.Prefix // invalid: of one connection
	reads  atomic.Bool  // a reply was written

	// Guarded by Budget.mu.
	conns   int
	used    int64
	running int  // Tickets that have a part of the reserve
	replies int  // that are not written, without those that cost no lock
	bytes   line // Waiters for bytes of the share
	parts   line // Waiters for the reserve
}

// Join returns the Share of a connection. Connections of one source have one together, and each
// connection of this machine has its own. Leave must be called at the connection's end.
func (b *Budget) Join(s Source) *Share {
	if s.Local {
		return &Share{budget: b}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.shares[s.Prefix]
	if share == nil {
		share = &Share{budget: b, source: s.Prefix}
		if b.shares == nil {
			b.shares = make(map[netip.Prefix]*Share)
		}
		b.shares[s.Prefix] = share
	}
	share.conns++
	return share
}

// Leave is called at the end of a connection. It has given back all that it took.
func (s *Share) Leave() {
	if !s.source.IsValid() {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.conns--; s.conns == 0 {
		delete(s.budget.shares, s.source)
	}
}

// Take takes n bytes, and reports whether it did: not if the source would have more than it may. If
// Take takes nothing, w is called once when there may be enough, unless it is nil or forgotten
// before.
func (s *Share) Take(n int, w *Waiter) bool {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	if s.take(n) {
		return true
	}
	b.collect()
	if w != nil {
		w.share, w.need, w.ticket = s, n, nil
		b.bytes.push(&s.bytes, w)
		b.watch()
	}
	return false
}

// take takes n bytes if the source may have them. Budget.mu must be held.
func (s *Share) take(n int) bool {
	ok := s.free(int64(n)) || s.roomy(n) || int64(n) <= s.room()
	if ok {
		if s.used == 0 && n != 0 {
			s.budget.holders++
		}
		s.used += int64(n)
		s.budget.used += int64(n)
	}
	return ok
}

// free reports whether most of the memory is free, and the source would have little with n bytes
// more. This is the usual case. Budget.mu must be held.
func (s *Share) free(n int64) bool {
	all := s.budget.forShares()
	return all-s.budget.used-n >= all>>1 && s.used+n <= all>>4
}

// roomy reports whether the source may take n bytes and a little more, without a root. Budget.mu
// must be held.
func (s *Share) roomy(n int) bool {
	all := float64(s.budget.forShares())
	x := float64(s.used + int64(n))
	left := all - float64(s.budget.used) - float64(n)
	return left > 0 && left*left > 2.001*x*all
}

// room returns the number of bytes that the source may still take; less than 0 if it has more than
// it may. Budget.mu must be held.
func (s *Share) room() int64 { return s.most() - s.used }

// most returns the number of bytes that the source may have: the root x of the equation above.
// Budget.mu must be held.
func (s *Share) most() int64 {
	all := s.budget.forShares()
	rest := all - (s.budget.used - s.used)
	switch {
	case rest <= 0:
		return 0
	case rest == all:
		return all / 2
	}
	m, t := float64(all), float64(rest)
	return int64(t * t / (t + m + math.Sqrt(m*(m+2*t))))
}

// Never reports whether n bytes are more than any source may have.
func (s *Share) Never(n int) bool { return int64(n) > s.budget.forShares()/2 }

// Left returns the number of bytes that the source may still take.
func (s *Share) Left() int {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return int(min(max(s.room(), 0), math.MaxInt))
}

// Give gives back n bytes that were taken.
func (s *Share) Give(n int) {
	if n == 0 {
		return
	}
	s.budget.mu.Lock()
	s.give(n)
	s.budget.wake()
}

// give gives back n bytes without a call of Waiters. Budget.mu must be held.
func (s *Share) give(n int) {
	had := s.used != 0
	s.used -= int64(n)
	s.budget.used -= int64(n)
	if has := s.used != 0; had && !has {
		s.budget.holders--
	} else if has && !had { // n is negative
		s.budget.holders++
	}
}

// Excessive reports whether the source has more than an even part of the memory, if one more source
// were to have such a part.
func (s *Share) Excessive() bool {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.budget.Most != 0 && s.used > s.budget.forShares()/int64(s.budget.holders+1)
}
