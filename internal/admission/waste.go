package admission

import (
	"runtime"
	"sync/atomic"
	"time"
)

// waste is the memory of replies that were not sent: their connection was closed, or they could
// not be sent. Nothing limits how fast such replies are made, as the network does for others. So
// they count until the garbage collector has run.
//
//	Ticket.Waste ──> fresh ──mark──> marked ──collected, sweep──> free
//	                   │               ▲
//	                   └──collect──────┘
//
// Later bytes are fresh until then. While something waits, collect makes the collector
// run. Budget.mu guards the fields.
type waste struct {
	fresh, marked wasted
	collected     *atomic.Bool  // the collector has run since mark; nil: nothing is marked
	runs          bool          // collect makes it run
	ran           time.Time     // when collect has done so last
	took          time.Duration // how long that took
}

// wasted is a number of bytes, of shares and in the reserve.
type wasted struct{ used, excess int64 }

// leastWaste is the least size in bytes of a reply that counts after it was thrown away.
const leastWaste = 64 << 10

// Waste is End, for a Request whose reply was not sent. It counts twice, because the results of its
// procedure are garbage, too. Nothing may point to it.
func (t *Ticket) Waste() {
	b := t.share.budget
	if n := 2 * int64(t.reply); t.replied && t.reply >= leastWaste && b.Most != 0 {
		b.mu.Lock()
		// A quarter of the shares is not for waste, so that short Requests are admitted.
		if all := b.forShares(); t.excess || b.used+n > all-all/4 {
			b.shutQuick()
			b.excess += n
			b.waste.fresh.excess += n
		} else {
			b.used += n
			b.waste.fresh.used += n
		}
		b.mark()
		b.mu.Unlock()
	}
	t.end()
}

// mark marks the fresh bytes, if none are marked. b.mu must be held.
func (b *Budget) mark() {
	w := &b.waste
	if w.collected != nil || w.fresh == (wasted{}) {
		return
	}
	w.marked, w.fresh, w.collected = w.fresh, wasted{}, new(atomic.Bool)
	sentinel := new([32]byte) // younger than all that is wasted
	runtime.AddCleanup(sentinel, func(c *atomic.Bool) { c.Store(true) }, w.collected)
	if b.bytes.n+b.reserve.n > 0 {
		b.collect()
	}
}

// sweep gives the marked bytes back if the collector has run since. b.mu must be held.
func (b *Budget) sweep() {
	if w := &b.waste; w.collected != nil && w.collected.Load() {
		b.used -= w.marked.used
		b.excess -= w.marked.excess
		w.marked, w.collected = wasted{}, nil
		b.mark()
	}
}

// collect makes the garbage collector run if there is waste, for a fifth of the time at most. b.mu
// must be held.
func (b *Budget) collect() {
	w := &b.waste
	if w.collected == nil || w.runs || time.Since(w.ran) < 4*w.took {
		return
	}
	w.marked.used += w.fresh.used
	w.marked.excess += w.fresh.excess
	w.fresh, w.collected, w.runs = wasted{}, new(atomic.Bool), true
	go func(c *atomic.Bool) {
		began := time.Now()
		runtime.GC()
		c.Store(true)
		b.mu.Lock()
		w.runs, w.ran, w.took = false, time.Now(), time.Since(began)
		b.sweep()
		b.wake()
	}(w.collected)
}
