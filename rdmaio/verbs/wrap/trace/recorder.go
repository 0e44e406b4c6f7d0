package trace

import (
	"fmt"
	"io"
	"sync"
)

// Recorder is a sink that holds the last events.
type Recorder struct {
	limit int

	mu     sync.Mutex
	events []Event // a ring once it is full
	next   int
	total  uint64
}

// NewRecorder returns a recorder that holds up to limit events, at least one.
func NewRecorder(limit int) *Recorder {
	return &Recorder{limit: max(limit, 1)}
}

// Add adds an event. It is a Config.Sink.
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

// Events returns a copy of the events held, oldest first.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(append([]Event(nil), r.events[r.next:]...), r.events[:r.next]...)
}

// Dropped returns the number of older events that are not held any more.
func (r *Recorder) Dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total - uint64(len(r.events))
}

// WriteTo writes a line for each event held, after a line with the number of those dropped.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	var total int64
	if n := r.Dropped(); n > 0 {
		k, err := fmt.Fprintf(w, "... %d earlier events dropped\n", n)
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
