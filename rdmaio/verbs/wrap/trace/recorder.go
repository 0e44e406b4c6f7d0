package trace

import (
	"fmt"
	"io"
	"sync"
)

// Recorder is a sink that keeps the last events.
type Recorder struct {
	limit int

	mu     sync.Mutex
	events []Event // a ring once it is full
	next   int
	total  uint64
}

// NewRecorder makes a recorder that keeps up to limit events, at least one.
func NewRecorder(limit int) *Recorder {
	return &Recorder{limit: max(limit, 1)}
}

// Add is the sink.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	if len(r.events) < r.limit {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % len(r.events)
}

// Events gives a copy of what is kept, oldest first.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(append([]Event(nil), r.events[r.next:]...), r.events[:r.next]...)
}

// Dropped tells how many older events are gone.
func (r *Recorder) Dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total - uint64(len(r.events))
}

// WriteTo writes what is kept, a line each, after a line about what is gone.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	var total int64
	if n := r.Dropped(); n > 0 {
		k, err := fmt.Fprintf(w, "... %d earlier events not kept\n", n)
		total += int64(k)
		if err != nil {
			return total, err
		}
	}
	for _, e := range r.Events() {
		k, err := fmt.Fprintln(w, e)
		total += int64(k)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
