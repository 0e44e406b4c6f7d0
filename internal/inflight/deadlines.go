package inflight

import (
	"container/heap"
	"time"
)

// Deadlines knows when records are due. It has one timer, set for the earliest deadline or for an
// earlier one that is gone: a record that is over in time does not set it again. The owner's lock
// guards it, and its methods must be called with that.
type Deadlines[T any] struct {
	// Due is called on a separate goroutine, without the lock, when records may be due. The owner
	// takes the lock and gives up the records that Expired returns, until that is nil.
	Due func()

	heap  dues[T]
	timer *time.Timer
	set   time.Time // when the timer fires; zero: it is not set
}

// Due is the part of a record that is in Deadlines.
type Due[T any] struct {
	record *T
	at     time.Time
	place  int // in the heap, plus one; 0: it is in none
}

// Add makes record due at a time. e is the record's, and was not added.
func (d *Deadlines[T]) Add(at time.Time, record *T, e *Due[T]) {
	e.record, e.at = record, at
	heap.Push(&d.heap, e)
	if e.place == 1 && (d.set.IsZero() || at.Before(d.set)) {
		d.arm(at)
	}
}

// Remove takes out the record of e, if it was added.
func (d *Deadlines[T]) Remove(e *Due[T]) {
	if e.place > 0 {
		heap.Remove(&d.heap, e.place-1)
		e.record = nil
	}
}

// Expired removes and returns a record whose time has come. Otherwise it sets the timer for the
// next one, and returns nil.
func (d *Deadlines[T]) Expired(now time.Time) *T {
	if len(d.heap) == 0 {
		d.set = time.Time{}
		return nil
	}
	first := d.heap[0]
	if now.Before(first.at) {
		d.arm(first.at)
		return nil
	}
	record := first.record
	d.Remove(first)
	return record
}

// arm sets the timer.
func (d *Deadlines[T]) arm(at time.Time) {
	d.set = at
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(at), func() { d.Due() })
		return
	}
	d.timer.Reset(time.Until(at))
}

// Close stops the timer. No record may be added after it.
func (d *Deadlines[T]) Close() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// dues is a heap, the earliest first.
type dues[T any] []*Due[T]

// Len implements heap.Interface.
func (h dues[T]) Len() int { return len(h) }

// Less implements heap.Interface.
func (h dues[T]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

// Swap implements heap.Interface.
func (h dues[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (h *dues[T]) Push(x any) {
	e := x.(*Due[T])
	*h = append(*h, e)
	e.place = len(*h)
}

// Pop implements heap.Interface.
func (h *dues[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.place = 0
	return e
}
