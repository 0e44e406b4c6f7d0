package sim

import (
	"container/heap"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
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

// clock has the events to come, in order of their time, and the trace of those that happened. Its
// time is the time of the bubble in which the simulation runs.
type clock struct {
	rng      *rand.Rand
	start    time.Time
	now      time.Duration // since start
	queue    queue
	seq      int
	inbox    inbox
	trace    hash.Hash
	events   int
	failures []string
}

func newClock(r *rand.Rand) clock {
	return clock{rng: r, start: time.Now(), trace: sha256.New(), inbox: newInbox()}
}

// after schedules do.
func (c *clock) after(d time.Duration, name string, do func()) {
	c.seq++
	heap.Push(&c.queue, &event{at: c.now + d, tie: c.rng.Uint32N(4), seq: c.seq, name: name, do: do})
}

// soon returns a short random duration.
func (c *clock) soon() time.Duration { return time.Duration(c.rng.IntN(20)) * time.Microsecond }

// next runs the next event. It returns false if the queue is empty.
func (c *clock) next() bool {
	for c.inbox.collect(c); len(c.queue) > 0; c.inbox.collect(c) {
		if c.inbox.sleep(c, c.queue[0].at) {
			continue // a goroutine of the product has work for the loop
		}
		e := heap.Pop(&c.queue).(*event)
		c.note("%d %s", c.now, e.name)
		e.do()
		return true
	}
	return false
}

// note adds a line to the trace.
func (c *clock) note(format string, args ...any) {
	c.events++
	fmt.Fprintf(c.trace, format+"\n", args...)
}

// fail records a broken rule.
func (c *clock) fail(format string, args ...any) {
	if len(c.failures) < 10 {
		c.failures = append(c.failures, fmt.Sprintf("%v: ", c.now)+fmt.Sprintf(format, args...))
	}
}

// chance decides whether a fault happens now.
func (w *world) chance(f Fault) bool {
	p := w.draw.rate[f]
	if !w.faults || p == 0 || w.rng.Float64() >= p {
		return false
	}
	w.tally.fired[f]++
	w.note("fault %v", f)
	return true
}
