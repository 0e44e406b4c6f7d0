package driver

import (
	"sync/atomic"
	"time"
)

// alarm is the timer for the engine's deadlines. It belongs to the runner, but running is changed
// when the timer fires.
type alarm struct {
	fired   func()        // Driver.fired
	timer   *time.Timer   // nil before the first deadline
	running atomic.Bool   // the timer is running
	due     time.Duration // the time to which it is set, on the engine's clock
}

// wake sets the timer, unless it is set to an earlier time. If the deadline has moved to a later
// time, the engine asks for that when the timer fires. So a busy connection seldom sets the timer.
// The engine's clock began at start.
func (a *alarm) wake(at time.Duration, start time.Time) {
	if a.running.Load() && a.due <= at {
		return
	}
	a.running.Store(true)
	a.due = at
	in := at - time.Since(start)
	if a.timer == nil {
		a.timer = time.AfterFunc(in, a.fired)
		return
	}
	a.timer.Reset(in)
}

// stop stops the timer. The caller holds Driver.mu, and the runner has left.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
