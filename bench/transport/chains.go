package transport

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// chains makes calls, depth at a time. Each is begun where the one before it is completed, so that
// there are no goroutines. Functions of one connection run one at a time, and so they share a
// Sampler.
type chains struct {
	*bench.Sampler
	start func(slot int, done func(error)) error
	dones []func(error) // by slot

	left *atomic.Int64 // calls to begin
	open atomic.Int64  // slots
	over chan struct{}

	mu  sync.Mutex
	err error
}

func newChains(depth int, start func(slot int, done func(error)) error) *chains {
	l := &chains{Sampler: bench.NewSampler(depth), start: start, left: new(atomic.Int64), over: make(chan struct{}, 1)}
	for slot := range depth {
		l.dones = append(l.dones, func(err error) {
			l.End(slot)
			l.next(slot, err)
		})
	}
	return l
}

// next begins the next call of a slot whose last one was completed with err.
func (l *chains) next(slot int, err error) {
	if err == nil && l.left.Add(-1) >= 0 {
		l.Begin(slot)
		if err = l.start(slot, l.dones[slot]); err == nil {
			return
		}
	}
	if err != nil {
		l.mu.Lock()
		l.err = errors.Join(l.err, err)
		l.mu.Unlock()
		l.left.Store(0)
	}
	if l.open.Add(-1) == 0 {
		l.over <- struct{}{}
	}
}

// run makes n calls.
func (l *chains) run(n int) (time.Duration, error) {
	l.left.Store(int64(n))
	l.Reset()
	began := time.Now()
	l.begin()
	<-l.over
	return time.Since(began), l.err
}

// begin begins the first calls. At the end there is something in over.
func (l *chains) begin() {
	l.open.Store(int64(len(l.dones)))
	for slot := range l.dones {
		l.next(slot, nil)
	}
}
