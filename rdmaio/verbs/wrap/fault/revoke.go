package fault

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// revocation is a call of Revoke that has not been reported.
type revocation struct {
	qp      *queuePair
	regions []*memoryRegion
	done    func(error)
	once    sync.Once
}

// end invalidates the regions and reports that, at the first call. Each call returns when that is
// done.
func (r *revocation) end() {
	r.once.Do(func() {
		var errs []error
		for _, mr := range r.regions {
			errs = append(errs, mr.invalidate())
		}
		r.qp.mu.Lock()
		delete(r.qp.revoking, r)
		r.qp.mu.Unlock()
		r.done(errors.Join(errs...)) // may disconnect, which completes all other revocations
		r.qp.reporting.Done()
	})
}

// Revoke implements verbs.Revoker. It returns verbs.ErrNotSupported if the wrapped queue pair does
// not, unless Config.Revoke is set.
func (q *queuePair) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	q.dev.maybeRemove()
	start := q.dev.inj.cfg.Revoke
	provider, ok := q.QueuePair.(verbs.Revoker)
	if !ok && start == nil {
		return fmt.Errorf("fault: revoke: %w", verbs.ErrNotSupported)
	}
	r := &revocation{qp: q, done: done}
	regions = append([]verbs.MemoryRegion(nil), regions...) // the caller's until Revoke returns
	inner := append([]verbs.MemoryRegion(nil), regions...)
	for i, mr := range regions {
		w, ours := mr.(*memoryRegion)
		if ours {
			inner[i] = w.MemoryRegion
		}
		switch {
		case start == nil: // the provider checks it
		case !ours || w.pd != q.pd:
			return fmt.Errorf("fault: revoke: region %d: %w", i, verbs.ErrForeignObject)
		case w.gone.Load():
			return fmt.Errorf("fault: revoke: region %d: %w", i, verbs.ErrClosed)
		default:
			r.regions = append(r.regions, w)
		}
	}
	for _, mr := range regions {
		if mr == nil || mr.State() != verbs.MRValid {
			continue
		}
		if f, fires := q.dev.inj.occasion(FailInvalidate); fires {
			done(f.error())
			return nil
		}
	}
	if start == nil {
		return provider.Revoke(inner, func(err error) {
			if err == nil {
				q.dev.inj.keys.endAll(regions)
			}
			done(err)
		})
	}
	q.reporting.Add(1)
	if q.revokes(r) {
		start(r.end)
	} else {
		r.end()
	}
	return nil
}

// revokes notes a revocation. It returns false if none can wait for a peer any more.
func (q *queuePair) revokes(r *revocation) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over || q.QueuePair.State() == verbs.StateInit {
		return false
	}
	if q.revoking == nil {
		q.revoking = make(map[*revocation]struct{})
	}
	q.revoking[r] = struct{}{}
	return true
}

// endRevocations completes all revocations, because the connection is closed.
func (q *queuePair) endRevocations() {
	q.mu.Lock()
	q.over = true
	var all []*revocation
	for r := range q.revoking {
		all = append(all, r)
	}
	q.mu.Unlock()
	for _, r := range all {
		r.end()
	}
}
