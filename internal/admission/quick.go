package admission

import "sync/atomic"

// quick counts the Tickets that have a part of the reserve by an atomic operation alone: a quarter
// of the parts at most. A handler without a bound, whose reply is short, then costs no lock.
//
//	open ──a Ticket finds no other part, or bytes of the reserve are taken──> shut
//	 ^                                                                          │
//	 └──none waits, and nothing of the reserve is in use but quick parts────────┘
//
// While it is open, the lock's side leaves the quarter alone. While it is shut, the count can only
// fall, and the rest of the quarter is for all. Recall does not take quick parts.
type quick struct {
	state atomic.Int64 // the count, and the bit shutBit
	shut  bool         // as the bit says. Guarded by Budget.mu.
}

const (
	shutBit = 1 << 40

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
		if v >= shutBit || !b.mayQuick(v+1) {
			return false
		}
		if b.quick.state.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// mayQuick reports whether n Tickets may have quick parts.
func (b *Budget) mayQuick(n int64) bool {
	return b.Most == 0 || b.Reply >= leastQuick && 2*quickShare*n*int64(b.Reply) <= int64(b.Most)
}

// leaveQuick gives a quick part back.
func (b *Budget) leaveQuick() {
	if b.quick.state.Add(-1) >= shutBit {
		b.mu.Lock()
		b.wake()
	}
}

// lone returns how many parts of the reserve are quick, or may become so. b.mu must be held.
func (b *Budget) lone() int64 {
	switch {
	case b.quick.shut:
		return b.quick.state.Load() &^ shutBit
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
