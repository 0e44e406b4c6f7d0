package admission

import (
	"math"
	"net/netip"
	"sync"
	"time"
)

// Budget is an amount of memory, in bytes, that the connections of a server share. The zero Budget
// has no limit.
//
//	       Most
//	├──── shares ────┼──── reserve ────┤
//	  Take, Admit       Admit: a handler whose reply has no bound
//
// With Reply there is a reserve, half of Most, for the replies of handlers about which nothing is
// known but that no reply is longer than Reply. So many of them run at a time as could all answer
// with so much, and at least one. A source leaves the last one to others, and so does a source
// without one that does not read its replies. What a Request needs beyond its share (Ticket.Take)
// is in the reserve, too.
type Budget struct {
	Most  int // 0: no limit
	Reply int // the size of the largest reply; 0 means no reserve

	// Relief, unless it is nil, is called from time to time while something waits, with the owners
	// of what waits. It may close connections that keep memory without need.
	Relief func(waiting []any)
	// None of these is changed after the first use.

	mu      sync.Mutex
	used    int64        // of shares
	holders int          // shares that have something
	excess  int64        // bytes in the reserve
	replies int          // of all shares
	running list[Ticket] // those that have a part of the reserve, the oldest first, without quick
	quick   quick
	shares  map[netip.Prefix]*Share
	bytes   queue // for bytes of their shares
	reserve queue // for the reserve
	looking bool  // look will be called
	waste   waste
}

// Take takes n bytes if that many are left, and reports whether it did.
func (b *Budget) Take(n int) bool {
	b.mu.Lock()
	ok := int64(n) <= b.forShares()-b.used
	if ok {
		b.used += int64(n)
	}
	b.mu.Unlock()
	return ok
}

// Give gives back n bytes that were taken.
func (b *Budget) Give(n int) {
	if n != 0 {
		b.mu.Lock()
		b.used -= int64(n)
		b.wake()
	}
}

// wake releases b.mu, which must be held, and then calls those that wait for what there is now.
func (b *Budget) wake() {
	b.sweep()
	if b.quick.shut {
		b.openQuick()
	}
	if b.bytes.n == 0 && b.reserve.n == 0 {
		b.mu.Unlock()
		return // the usual case
	}
	ready := b.ready(looks)
	b.mu.Unlock()
	for _, w := range ready {
		w.Call()
	}
}

// ready returns the Waiters that must be called, and gives those for the reserve what they wait
// for. It looks at n of the latter whose shares may have room by now. b.mu must be held.
func (b *Budget) ready(n int) []*Waiter {
	ready := b.admit(b.serve(nil), n)
	// Those whose share has no room go to the end, so that a few of them do not hide the others,
	// and a call does not look at thousands.
	for range min(looks, b.bytes.n) {
		w := b.bytes.pop()
		if w.share.room() >= int64(w.need) {
			ready = append(ready, w)
		} else {
			b.bytes.push(&w.share.bytes, w)
		}
	}
	return ready
}

// serve gives the free part of the reserve to Tickets that wait, and appends their Waiters, which
// must be called, to a list. b.mu must be held.
func (b *Budget) serve(ready []*Waiter) []*Waiter {
	for passed := 0; passed < min(looks, b.reserve.lines.n); {
		w := b.reserve.front()
		t := w.ticket
		switch {
		case w.more && b.spare(t) >= int64(w.need):
			t.exceed(w.need)
			t.promised = true
		case !w.more && b.mayRun(t.share):
			t.enter()
		default:
			b.reserve.pass()
			passed++
			continue
		}
		ready = append(ready, b.reserve.pop())
		passed = 0
	}
	return ready
}

// looks is the number of Waiters that one call looks at and cannot serve.
const looks = 16

// free returns how many further handlers without a bound may run. Replies in the reserve count by
// their bytes, rounded to whole parts, so that short ones do not keep it. b.mu must be held.
func (b *Budget) free() int64 {
	if b.Most == 0 || b.Reply == 0 {
		return math.MaxInt64
	}
	part := int64(b.Reply)
	return b.parts() - (b.excess+part/2)/part - int64(b.running.n) - b.lone()
}

// parts returns how many handlers without a bound may run at a time.
func (b *Budget) parts() int64 { return max(1, int64(b.Most)/2/int64(b.Reply)) }

// mayRun reports whether a further handler of a source may have a part of the reserve. The last
// part is for a source without one. If there are several, and replies are not written, that source
// must read its own: it does not wait until many others that read none have had their turns. b.mu
// must be held.
func (b *Budget) mayRun(s *Share) bool {
	free := b.free()
	return free > 1 || free == 1 && s.running == 0 && (b.replies == 0 || b.reads(s) || b.parts() == 1)
}

// reads reports whether a source has read a reply, and has read all. b.mu must be held.
func (b *Budget) reads(s *Share) bool { return s.reads.Load() && s.replies == 0 }

// largest returns how many bytes of the reserve a Ticket may take that is alone there: what one
// reply leaves, or half of it.
func (b *Budget) largest() int64 { return max(int64(b.Most)/4, int64(b.Most)/2-int64(b.Reply)) }

// spare returns how many bytes of the reserve a Ticket may take. b.mu must be held.
func (b *Budget) spare(t *Ticket) int64 {
	if b.Most == 0 || b.Reply == 0 {
		return 0
	}
	b.shutQuick()
	parts := int64(b.running.n) + b.lone()
	alone := b.excess == int64(t.extra) && (parts == 0 || parts == 1 && (t.place.in != nil || t.quick))
	if alone {
		return b.largest() - b.excess - b.shortBytes()
	}
	return int64(b.Most)/2 - b.excess - b.shortBytes() - parts*int64(b.Reply)
}

// Recall takes the parts of the reserve from handlers that began before a time and have not
// replied, the oldest first, as far as others wait for parts. Otherwise handlers that wait for a
// client, or for each other, would keep out all others. Memory for the reply of such a handler is
// taken when its size is known, without asking.
func (b *Budget) Recall(before time.Time) {
	var ready []*Waiter
	b.mu.Lock()
	for b.reserve.n > 0 && b.running.n > 0 && b.running.first.value.since.Before(before) {
		b.running.first.value.leave()
		ready = b.serve(ready)
	}
	b.mu.Unlock()
	for _, w := range ready {
		w.Call()
	}
}

// Left returns the number of bytes that shares may still take. It is the largest int without a
// limit.
func (b *Budget) Left() int {
	if b.Most == 0 {
		return math.MaxInt
	}
	b.mu.Lock()
	b.sweep()
	left := b.forShares() - b.used
	b.mu.Unlock()
	return int(max(left, 0))
}

// Used returns the number of bytes that are taken, replies included. It is without those that are
// wasted.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &b.waste
	return b.used + b.excess - w.fresh.used - w.fresh.excess - w.marked.used - w.marked.excess
}

// forShares returns the number of bytes that shares may have. b.mu need not be held.
func (b *Budget) forShares() int64 {
	switch {
	case b.Most == 0:
		return math.MaxInt64
	case b.Reply == 0:
		return int64(b.Most)
	}
	return int64(b.Most) - int64(b.Most)/2
}
