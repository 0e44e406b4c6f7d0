package admission

import "sync/atomic"

// quick counts the Tickets that cost no lock, by one atomic operation. A handler without a bound
// has a part of the reserve: a quarter of the parts at most. A short reply, or a handler with a
// bound that low, has spare bytes of the reserve: the rest of less than a part.
//
//	             no bound                      Reply: short
//	Request ──┬───────────> a part ───────────────────────────┬──> spare bytes ──End──> nothing
//	          └─ low bound ───────────────────────────────────┘
//
// A short reply keeps the part until its end where there are no such bytes. It does so, too, before
// a Ticket finds no quick part for the first time: that is one operation less.
//
//	open ──a Ticket finds no other part, or bytes of the reserve are taken──> shut
//	 ^                                                                          │
//	 └──none waits, and nothing of the reserve is in use but quick parts────────┘
//
// While it is open, the lock's side leaves the quarter alone. While it is shut, the counts can only
// fall, and the rest of the quarter is for all. Recall does not take quick parts.
type quick struct {
	state atomic.Int64 // parts, short replies in units of shortUnit, and the bit shutBit
	shut  bool         // as the bit says. Guarded by Budget.mu.

	crowded atomic.Bool // a Ticket has found no quick part

	shorts atomic.Int64 // Budget.mostShort plus 1; 0: not known yet
}

const (
	shortUnit = 1 << 28
	shutBit   = 1 << 56

	// shortLimit is the largest number of short replies that cost no lock.
	shortLimit = 1024

	// quickShare is the part of the reserve that is quick: one in as many.
	quickShare = 4

	// leastQuick is the size of the largest reply from which there are quick parts. The replies
	// that they cover are much shorter.
	leastQuick = 16 * spare
)

// enterQuick takes a quick part, and reports whether it did.
func (b *Budget) enterQuick() bool {
	for {
		v := b.quick.state.Load()
		if v >= shutBit || !b.mayQuick(v&(shortUnit-1)+1) {
			if v < shutBit {
				b.quick.crowded.Store(true)
			}
			return false
		}
		if b.quick.state.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// enterShort takes spare bytes for a short reply and gives back 0 or 1 quick parts. It reports
// whether it did.
func (b *Budget) enterShort(parts int64) bool {
	for {
		v := b.quick.state.Load()
		if v >= shutBit || v/shortUnit >= b.shorts() {
			return false
		}
		if b.quick.state.CompareAndSwap(v, v+shortUnit-parts) {
			return true
		}
	}
}

// shorts returns what mostShort returns.
func (b *Budget) shorts() int64 {
	n := b.quick.shorts.Load()
	if n == 0 {
		n = b.mostShort() + 1
		b.quick.shorts.Store(n)
	}
	return n - 1
}

// mostShort returns how many short replies may cost no lock: as many as have room in the rest of
// the reserve.
func (b *Budget) mostShort() int64 {
	switch {
	case b.Most == 0:
		return shortLimit
	case b.Reply < leastQuick:
		return 0
	}
	return min(shortLimit, max(0, int64(b.Most)/2-b.parts()*int64(b.Reply))/spare)
}

// shortBytes returns the bytes of short replies that cost no lock, or may do so. b.mu must be held.
func (b *Budget) shortBytes() int64 {
	if b.quick.shut {
		return b.quick.state.Load() &^ shutBit / shortUnit * spare
	}
	return b.mostShort() * spare
}

// mayQuick reports whether n Tickets may have quick parts.
func (b *Budget) mayQuick(n int64) bool {
	return b.Most == 0 && n < shortUnit || b.Reply >= leastQuick && 2*quickShare*n*int64(b.Reply) <= int64(b.Most)
}

// lone returns how many parts of the reserve are quick, or may become so. b.mu must be held.
func (b *Budget) lone() int64 {
	switch {
	case b.quick.shut:
		return b.quick.state.Load() & (shortUnit - 1)
	case b.Reply < leastQuick:
		return 0
	}
	return b.parts() / quickShare
}

// shutQuick lets no further Ticket have a quick part. b.mu must be held.
func (b *Budget) shutQuick() {
	if !b.quick.shut {
		b.quick.shut = true
		b.quick.state.Add(shutBit)
	}
}

// openQuick lets Tickets have quick parts if nothing else of the reserve is in use. b.mu must be
// held.
func (b *Budget) openQuick() {
	if b.reserve.n == 0 && b.running.n == 0 && b.excess == 0 {
		b.quick.shut = false
		b.quick.state.Add(-shutBit)
	}
}
