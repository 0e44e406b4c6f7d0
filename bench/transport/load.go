package transport

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// load makes calls, depth at a time, and records the time of each. A slot makes one call at a time.
type load struct {
	depth int
	call  func(slot int) error
	took  [][]time.Duration // by slot
}

func newLoad(depth int, call func(slot int) error) *load {
	return &load{depth: depth, call: call, took: make([][]time.Duration, depth)}
}

// run makes n calls.
func (l *load) run(n int) (time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, l.depth)
	work := func(slot int) {
		took := l.took[slot][:0]
		for before := time.Now(); left.Add(-1) >= 0 && errs[slot] == nil; {
			errs[slot] = l.call(slot)
			now := time.Now()
			took = append(took, now.Sub(before))
			before = now
		}
		l.took[slot] = took
	}
	start := time.Now()
	if l.depth == 1 {
		work(0)
		return time.Since(start), errs[0]
	}
	var wg sync.WaitGroup
	for slot := range l.depth {
		wg.Go(func() { work(slot) })
	}
	wg.Wait()
	return time.Since(start), errors.Join(errs...)
}

// Percentiles returns p50 and p99 of the last run, in ns.
func (l *load) Percentiles() (p50, p99 float64) { return bench.Percentiles(slices.Concat(l.took...)) }
