package admission

import (
	"math"
	"net/netip"
	"sync"
)

// Budget is an amount of memory, in bytes, that the connections of a server share. The zero Budget
// has no limit.
//
//	left ──Take, Share.Take──> used ──Give──> left
//	            │                      │
//	            └──no: Waiter <───call─┘
//
// Replies take from it without asking, because their handlers have run. They count against later
// requests only.
type Budget struct {
	Most int // 0: no limit. It is not changed after the first use.

	mu      sync.Mutex
	used    int64
	replies int64 // bytes of replies that are not written
	shares  map[netip.Prefix]*Share
	waiting map[*Waiter]bool
}

// Waiter is the wish of a connection for memory.
type Waiter struct {
	// Call is called when memory has been given back. It must not block, and not use the Budget.
	Call func()
}

// Take takes n bytes if that many are left, and reports whether it did.
func (b *Budget) Take(n int) bool {
	b.mu.Lock()
	ok := int64(n) <= b.most()-b.used-b.replies
	if ok {
		b.used += int64(n)
	}
	b.mu.Unlock()
	return ok
}

// Forget removes a Waiter. It may be called once more, by a Give in progress.
func (b *Budget) Forget(w *Waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, w)
}

// AddReply counts a reply of n bytes.
func (b *Budget) AddReply(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replies += int64(n)
}

// Give gives back n bytes that were taken.
func (b *Budget) Give(n int) {
	if n != 0 {
		b.mu.Lock()
		b.giveBoth(n, 0)
	}
}

// giveBoth gives back n bytes and the bytes of a reply, and calls the Waiters. b.mu must be held;
// giveBoth releases it.
func (b *Budget) giveBoth(n, reply int) {
	b.used -= int64(n)
	b.replies -= int64(reply)
	waiting := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	if waiting == nil {
		return // the usual case, without an iterator
	}
	for w := range waiting {
		w.Call()
	}
}

// Left returns the number of bytes that may still be taken. It is 0 if replies take more, and the
// largest int without a limit.
func (b *Budget) Left() int {
	if b.Most == 0 {
		return math.MaxInt
	}
	b.mu.Lock()
	left := int64(b.Most) - b.used - b.replies
	b.mu.Unlock()
	return int(max(left, 0))
}

// Used returns the number of bytes that are taken, replies included.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used + b.replies
}

// most returns the limit. b.mu need not be held.
func (b *Budget) most() int64 {
	if b.Most == 0 {
		return math.MaxInt64
	}
	return int64(b.Most)
}
