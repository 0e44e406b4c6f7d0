package rdmaio

import (
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// shortage is the wait of a connection's first Call with chunks for memory of its source
// (Config.MaxMemory). The runner of the engine uses it, except for woken.
//
//	promise ── the share has too little ──> waits <──> woken: promise looks again
//	                                          │           └─ enough ──> over
//	                                          └─ Config.WorkTimeout ──> refused
type shortage struct {
	waits  bool
	waiter admission.Waiter
	woken  atomic.Bool // there may be enough, or it waits for too long
	since  time.Time
	timer  *time.Timer // wakes it after Config.WorkTimeout; nil: no limit
}

// begin begins a wait, and reports whether it is a new one.
func (s *shortage) begin(h *host) bool {
	if s.waits {
		return false
	}
	s.waits, s.since = true, time.Now()
	if h.set.WorkTimeout > 0 {
		s.timer = time.AfterFunc(h.set.WorkTimeout, func() { s.wake(h) })
	}
	return true
}

// wake makes the runner look again. It may be called by any goroutine, with any lock.
func (s *shortage) wake(h *host) {
	s.woken.Store(true)
	h.driver.Queue(engine.Event{Kind: engine.EventEffects})
}

// late reports whether the wait is longer than Config.WorkTimeout.
func (s *shortage) late(h *host) bool {
	return s.waits && h.set.WorkTimeout > 0 && time.Since(s.since) >= h.set.WorkTimeout
}

// end stops a wait, if there is one.
func (s *shortage) end(h *host) {
	if !s.waits {
		return
	}
	h.shared.memory.Forget(&s.waiter)
	if s.timer != nil {
		s.timer.Stop()
	}
	s.waits, s.timer = false, nil
}
