package mrpool

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// UseQueuePair sets the queue pair of the Pool's regions, which may be a verbs.Revoker. It is
// called before the first region is registered, if at all.
func (p *Pool) UseQueuePair(qp verbs.QueuePair) {
	r, ok := qp.(verbs.Revoker)
	// A wrapper may have the method, and what it wraps not.
	if ok && r.Revoke(nil, func(error) {}) == nil {
		p.revoker = r
	}
}

// Revokes reports whether the device can do Revoke.
func (p *Pool) Revokes() bool { return p.revoker != nil }

// Revoke starts to invalidate regions together, and calls done at the end, as verbs.Revoker says.
// Call Revoked for each of them then. It must not be called unless Revokes returns true; otherwise
// Release ends each region.
func (p *Pool) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	return p.revoker.Revoke(regions, done)
}

// Release invalidates a region. It blocks until accesses in progress are over, and with a device
// whose queue pairs are Revokers it may wait for the peer. Afterwards the owner may use the memory
// again. If Release returns an error, the memory must not be used before the connection is closed;
// then call Abandon (R329).
func (p *Pool) Release(r *Region) error {
	if r.local {
		return nil
	}
	if err := r.Invalidate(); err != nil {
		return err
	}
	return p.Revoked(r)
}

// ReleaseAtOnce is Release for a goroutine that must not wait for the peer. Where Release might, it
// deregisters the region.
func (p *Pool) ReleaseAtOnce(r *Region) error {
	if r.remote && p.Revokes() {
		return p.abandon(r, 1)
	}
	return p.Release(r)
}

// Revoked takes back a region that Revoke has invalidated. It does not block.
func (p *Pool) Revoked(r *Region) error { return p.takeBack(r, 1) }

// Invalidated takes back a region that the peer has invalidated, as the completion of a Receive
// reported. It does not block.
func (p *Pool) Invalidated(r *Region) error { return p.takeBack(r, 0) }

// takeBack keeps the object of an invalid region, or deregisters it. It counts so many revocations
// of regions to which the peer had a right.
func (p *Pool) takeBack(r *Region, revocations uint64) error {
	if r.demand != nil {
		r.demand.revocations = revocations
		return nil // Collect keeps it
	}
	p.mu.Lock()
	if r.remote {
		p.stats.Revocations += revocations
	}
	keep := !p.closed && len(p.regions) < p.cfg.KeepIdle && p.kept.mayHold(r.pinned)
	if keep {
		p.regions = append(p.regions, idleRegion{r.MemoryRegion, r.pinned})
		p.watch()
	} else {
		p.stats.Regions--
	}
	p.inUse--
	p.stats.Pinned -= uint64(r.pinned)
	p.mu.Unlock()
	if keep {
		return nil
	}
	return r.Deregister()
}

// Abandon deregisters a region that could not be released. Its queue pairs must be disconnected
// before.
func (p *Pool) Abandon(r *Region) error { return p.abandon(r, 0) }

// abandon deregisters a region, and counts so many revocations.
func (p *Pool) abandon(r *Region, revocations uint64) error {
	if r.local {
		return nil
	}
	err := r.Deregister()
	if r.demand != nil {
		r.demand.gone = true
	}
	p.mu.Lock()
	p.inUse--
	p.stats.Regions--
	p.stats.Revocations += revocations
	p.stats.Pinned -= uint64(r.pinned)
	p.mu.Unlock()
	return err
}

// Drop deregisters a detached region. It blocks until accesses in progress are over, and does not
// wait for the peer.
func (p *Pool) Drop(r *Region) error {
	err := p.abandon(r, 1)
	if r.demand != nil {
		return errors.Join(err, r.demand.putMemory())
	}
	return errors.Join(err, p.Put(r.stage))
}
