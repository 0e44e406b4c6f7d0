package sim

import (
	"container/heap"
	"fmt"
	"time"
)

// event is a function to be called at a time.
type event struct {
	at   time.Duration
	tie  uint32 // random order of events at the same time
	seq  int
	name string
	do   func()
}

// queue is a heap of events, the next one first.
type queue []*event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.tie != b.tie:
		return a.tie < b.tie
	}
	return a.seq < b.seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*event)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// after schedules do.
func (w *world) after(d time.Duration, name string, do func()) {
	w.seq++
	heap.Push(&w.queue, &event{at: w.now + d, tie: w.rng.Uint32N(4), seq: w.seq, name: name, do: do})
}

// soon returns a short random duration.
func (w *world) soon() time.Duration { return time.Duration(w.rng.IntN(20)) * time.Microsecond }

// next runs the next event. It returns false if there is none.
func (w *world) next() bool {
	if len(w.queue) == 0 {
		return false
	}
	e := heap.Pop(&w.queue).(*event)
	w.now = e.at
	w.note("%d %s", w.now, e.name)
	e.do()
	return true
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	w.events++
	fmt.Fprintf(w.trace, format+"\n", args...)
}

// fail records a broken rule.
func (w *world) fail(format string, args ...any) {
	if len(w.failures) < 10 {
		w.failures = append(w.failures, fmt.Sprintf("%v: ", w.now)+fmt.Sprintf(format, args...))
	}
}

// chance decides whether a fault happens now.
func (w *world) chance(f Fault) bool {
	p := w.draw.rate[f]
	if !w.faults || p == 0 || w.rng.Float64() >= p {
		return false
	}
	w.fired[f]++
	w.note("fault %v", f)
	return true
}
