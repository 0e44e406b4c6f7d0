package ibverbs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// revocation waits until some regions are invalid.
type revocation struct {
	left  atomic.Int32 // windows that are not invalid yet, and 1 until all are started
	err   error        // set before the last of left is done
	done  func(error)
	owner *queuePair // calls of done are counted under its lock

	ended chan struct{} // closed at the end
}

// reports counts calls of done that have not returned. The queue pair's lock guards it.
type reports struct {
	n    int
	idle chan struct{} // closed when n is 0 again; nil before the first
}

// Revoke implements verbs.Revoker. Windows are invalidated by requests of the send queue, posted
// together, and other regions at once.
func (q *queuePair) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	own := make([]*region, len(regions))
	for i, mr := range regions {
		r, ok := mr.(*region)
		switch {
		case !ok || r.pd != q.pd:
			return fmt.Errorf("ibverbs: queue pair %d: revoke: region %d of %d: %w", q.Num(), i, len(regions), verbs.ErrForeignObject)
		case r.State() == verbs.MRDeregistered:
			return fmt.Errorf("ibverbs: queue pair %d: revoke: region %d of %d: %w", q.Num(), i, len(regions), verbs.ErrClosed)
		}
		own[i] = r
	}
	v := &revocation{done: done, owner: q, ended: make(chan struct{})}
	v.start(own)
	return nil
}

// start begins to invalidate regions.
func (v *revocation) start(regions []*region) {
	v.left.Store(1)
	var posting *queuePair
	for i, r := range regions {
		if q := r.binder(); q != nil && q != posting {
			posting = q // a domain has one queue pair with windows, so this happens once
			q.win.revoke(v, regions[i:])
		}
	}
	var errs []error
	for _, r := range regions {
		if r.binder() == nil { // not a window, or one that the end of its queue pair has revoked
			errs = append(errs, r.expire(verbs.MRInvalid))
		}
	}
	v.err = errors.Join(errs...)
	q := v.owner
	q.mu.Lock()
	q.finishOne(v)
	q.mu.UnlockNotify()
}

// revoke posts the invalidation of the windows among regions that are bound to q.
func (ws *windows) revoke(v *revocation, regions []*region) {
	q := ws.qp
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	q.poll() // the peer may have invalidated them: some devices fail a second invalidation
	for _, r := range regions {
		w := q.win.windowOf(r)
		if w == nil {
			continue
		}
		v.left.Add(1)
		w.waiting = append(w.waiting, v)
		if w.revoking || q.end.begun || q.sq.barred {
			continue
		}
		if q.sq.batch == postBatch {
			q.flushBatch() // an error begins the end, which ends v
		}
		seq := q.sq.push()
		e := q.sq.at(seq)
		*e = request{kind: kindRevoke, window: w, signaled: true, sgl: e.sgl[:0]}
		q.sq.internal++
		w.revoking = true
		q.enqueue(seq, abi.SendWR{Opcode: abi.OpLocalInv, Invalidate: w.key, RKey: w.key})
	}
	if _, err := q.flushBatch(); err != nil {
		q.end.callFailed("invalidate a memory window", err)
	}
}

// windowOf returns the window of a region that is bound to q, or nil. The caller holds q.mu.
func (ws *windows) windowOf(r *region) *window {
	q := ws.qp
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.window == nil || r.window.qp != q {
		return nil
	}
	return r.window
}

// finishOne counts one part of a revocation as done. The caller holds q.mu.
func (q *queuePair) finishOne(v *revocation) {
	if v.left.Add(-1) > 0 {
		return
	}
	close(v.ended)
	if v.done == nil {
		return
	}
	if q.calls.n++; q.calls.n == 1 {
		q.calls.idle = make(chan struct{})
	}
	q.mu.Notify(func() {
		v.done(v.err)
		q.mu.Lock()
		if q.calls.n--; q.calls.n == 0 {
			close(q.calls.idle)
		}
		q.mu.Unlock()
	})
}

// revokeAndWait invalidates a region with a window. It polls, so that it works on the goroutine
// that reads completions.
func (ws *windows) revokeAndWait(r *region) {
	q := ws.qp
	v := &revocation{owner: q, ended: make(chan struct{})}
	v.start([]*region{r})
	for n := 0; ; n++ {
		q.mu.Lock()
		q.poll()
		q.mu.UnlockNotify()
		select {
		case <-v.ended:
			return
		case <-time.After(waitStep(n)):
		}
	}
}
