package admission

import (
	"slices"
	"time"
)

// worker is a goroutine that runs handlers, as the channel from which it takes jobs. It has room
// for one. The goroutine ends when it is closed.
type worker[R any] chan job[R]

// idle has the goroutines that wait for a job. A new goroutine has a small stack. The runtime
// copies it several times while a handler runs, and that takes longer than many handlers do.
//
//	          ┌──────────take──────────┐
//	          ▼                        │
//	go ──> running ──put──> idle ──────┘
//	          │               └──sweep, end──> exited
//	          └──the handler exits──> exited
//
// The last one to become idle is the first to be taken. So those at the front are the ones that the
// load does not need: sweep, every restTime, ends those that were idle since the sweep before.
type idle[R any] struct {
	workers []worker[R]
	least   int         // how few there were since the last sweep
	timer   *time.Timer // calls sweep; it runs while there are workers
}

// restTime is the time between sweeps.
const restTime = time.Second

// take removes and returns a goroutine, or nil.
func (i *idle[R]) take() worker[R] {
	last := len(i.workers) - 1
	if last < 0 {
		return nil
	}
	w := i.workers[last]
	i.workers[last], i.workers = nil, i.workers[:last]
	i.least = min(i.least, last)
	return w
}

// put adds a goroutine. sweep is to be called from time to time.
func (i *idle[R]) put(w worker[R], sweep func()) {
	i.workers = append(i.workers, w)
	if i.timer == nil {
		i.least, i.timer = 0, time.AfterFunc(restTime, sweep)
	}
}

// sweep ends those that were idle since the last sweep.
func (i *idle[R]) sweep() {
	for _, w := range i.workers[:i.least] {
		close(w)
	}
	i.workers = slices.Delete(i.workers, 0, i.least)
	i.least = len(i.workers)
	switch {
	case i.timer == nil: // end came first
	case i.least > 0:
		i.timer.Reset(restTime)
	default:
		i.timer = nil
	}
}

// end stops all goroutines that wait.
func (i *idle[R]) end() {
	i.least = len(i.workers)
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	i.sweep()
}
