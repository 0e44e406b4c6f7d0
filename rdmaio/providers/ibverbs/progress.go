package ibverbs

import (
	"runtime"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// progress is the state of callers that poll in place of the device's reader. The queue pair's lock
// guards it.
type progress struct {
	callers int         // that poll
	timer   *time.Timer // arms the queue when no caller has polled for a while; may be nil
}

const (
	pollFor = 100 * time.Microsecond // how long a caller polls for a completion
	armWait = 2 * time.Millisecond   // how long the completion queue stays unarmed after a call
)

// Progress implements verbs.Progresser: it polls the device in place of waiting for an event, which
// costs system calls and a change of goroutines.
func (q *queuePair) Progress(done func() bool) {
	q.mu.Lock()
	if q.State() != verbs.StateConnected || q.end.begun {
		q.mu.Unlock()
		return
	}
	q.prog.callers++
	q.mu.Unlock()
	for start := time.Now(); !done(); runtime.Gosched() {
		q.mu.Lock()
		n, ending := q.poll(), q.end.begun
		q.mu.UnlockNotify()
		if n > 0 {
			start = time.Now()
		}
		if ending || time.Since(start) > pollFor {
			break
		}
	}
	q.mu.Lock()
	q.prog.callers--
	if q.prog.callers == 0 && !q.armed && !q.end.begun {
		q.prog.arm(q)
	}
	q.mu.UnlockNotify()
}

// Wake implements verbs.Progresser. It does nothing: Progress asks done all the time.
func (q *queuePair) Wake() {}

// Resume implements verbs.Progresser.
func (q *queuePair) Resume() {
	q.mu.Lock()
	if q.prog.callers == 0 {
		q.arm()
	}
	q.mu.UnlockNotify()
}

// arm arms the completion queue later. The caller holds the queue pair's lock.
func (p *progress) arm(q *queuePair) {
	if p.timer == nil {
		p.timer = time.AfterFunc(armWait, q.Resume)
		return
	}
	p.timer.Reset(armWait)
}

// stop stops the timer. The caller holds the queue pair's lock.
func (p *progress) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// arm makes the device send an event for the next completion, and handles those that came before.
// Events are wanted for any completion: some devices make none for solicited Receives, or for
// failed requests of a queue that is armed for solicited ones. The caller holds q.mu.
func (q *queuePair) arm() {
	if q.armed || q.end.cleaned {
		return
	}
	q.armed = true
	if err := q.dev.lib.ReqNotify(q.cq, false); err != nil {
		q.end.callFailed("arm the completion queue", err)
	}
	for q.poll() > 0 { // some libraries return fewer completions than there are
	}
}

// completionEvent handles an event of the completion queue.
func (q *queuePair) completionEvent() {
	q.mu.Lock()
	q.armed = false
	q.poll()
	if q.prog.callers == 0 {
		q.arm()
	}
	q.mu.UnlockNotify()
}
