package fault

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// ending describes a disconnect as UnknownCause and LateCause show it.
//
//	connected ── the provider notifies ──> waiting (LateCause) ── timer or Close ──> notified
type ending struct {
	mu      sync.Mutex
	waiting bool
	done    bool
	timer   *time.Timer
	reason  error // in place of the provider's; nil until it is chosen
}

// late makes notify run after a delay, unless finish comes first.
func (e *ending) late(delay time.Duration, notify func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = true
	e.timer = time.AfterFunc(delay, func() {
		if e.tell() {
			notify()
		}
	})
}

// tell finishes the wait. It reports whether the caller has to notify.
func (e *ending) tell() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.waiting || e.done {
		return false
	}
	e.done = true
	e.timer.Stop()
	return true
}

// silent reports whether the reason of the end is still to come.
func (e *ending) silent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting && !e.done
}

// cause returns the reason to report for the provider's, which may be nil.
func (q *queuePair) cause(err error) error {
	inj := q.dev.inj
	unsure := errors.Is(err, verbs.ErrPeerDisconnected) || errors.Is(err, verbs.ErrConnectionBroken)
	if !inj.has(UnknownCause) || !unsure || !q.connected.Load() {
		return err
	}
	e := &q.end
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reason == nil {
		e.reason = [...]error{
			verbs.ErrPeerDisconnected,
			verbs.ErrConnectionBroken,
			fmt.Errorf("%w: %w", verbs.ErrConnectionBroken, verbs.StatusError{Status: verbs.StatusRetryExceeded}),
		}[inj.pick(UnknownCause, 3)]
	}
	return e.reason
}

// ended is the wrapped queue pair's verbs.QPConfig.Notify.
func (q *queuePair) ended() {
	q.endRevocations()
	for _, cq := range q.cqs {
		cq.releaseEnded(q)
	}
	q.outstanding.clear()
	if q.dev.inj.has(LateCause) {
		q.dev.inj.happened(LateCause)
		q.end.late(q.dev.inj.cfg.NotifyDelay, q.tellEnd)
		return
	}
	q.tellEnd()
}

func (q *queuePair) tellEnd() {
	if q.notify != nil {
		q.notify()
	}
}
