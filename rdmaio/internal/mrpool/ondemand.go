package mrpool

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// demand is a region of RegisterOwn that gets a Buffer when the peer first writes there. Most such
// regions are for long replies that do not come, and need none.
type demand struct {
	pool        *Pool
	mr          verbs.MemoryRegion
	size        int
	gone        bool                   // deregistered
	buf         *Buffer                // nil while the peer has written nothing
	revocations uint64                 // 1: this side has invalidated the region
	provide     func() ([]byte, error) // the method, for verbs.OnDemand
}

// memory returns the memory of the region. The provider calls it, and Invalidate waits for it.
func (d *demand) memory() ([]byte, error) {
	b, err := d.pool.Buffer(d.size)
	if err != nil {
		return nil, err
	}
	d.buf = b
	return b.Bytes, nil
}

// InPlace reports whether RegisterOnDemand cannot succeed, as far as is known.
func (p *Pool) InPlace() bool { return p.inPlace.Load() }

// RegisterOnDemand is RegisterOwn for a region where the peer may write and not read, and which has
// no memory before the peer writes (verbs.OnDemand). The error is verbs.ErrNotSupported if the
// device cannot do it.
func (p *Pool) RegisterOnDemand(n int, access verbs.Access) (Region, error) {
	d, err := p.takeDemand()
	if err != nil {
		return Region{}, err
	}
	d.size = n
	if err = d.mr.(verbs.OnDemand).ReregisterOnDemand(n, access, d.provide); err != nil {
		// A wrapper may be OnDemand, and what it wraps not.
		return Region{}, errors.Join(err, d.keep(errors.Is(err, verbs.ErrNotSupported)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Registrations++
	p.stats.Remote++
	return Region{MemoryRegion: d.mr, demand: d, remote: true}, nil
}

// takeDemand returns a kept demand, or a new one, and counts it as in use. Its region is invalid.
func (p *Pool) takeDemand() (*demand, error) {
	d, err := p.keptDemand()
	if d != nil || err != nil {
		return d, err
	}
	// A region begins with memory.
	mr, err := p.pd.RegisterMemory(make([]byte, 1), verbs.AccessLocalWrite)
	if err != nil {
		return nil, err
	}
	if err := mr.Invalidate(); err != nil {
		return nil, errors.Join(err, mr.Deregister())
	}
	_, ok := mr.(verbs.OnDemand)
	if !ok {
		err = errors.Join(verbs.ErrNotSupported, mr.Deregister())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		p.inPlace.Store(true)
		return nil, err
	}
	p.stats.Regions++
	p.inUse++
	d = &demand{pool: p, mr: mr}
	d.provide = d.memory
	return d, nil
}

// keptDemand returns a kept demand, or nil without one. The error is verbs.ErrNotSupported if the
// provider has no such memory.
func (p *Pool) keptDemand() (*demand, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch k := len(p.demands); {
	case p.closed:
		return nil, fmt.Errorf("mrpool: register: %w", ErrClosed)
	case p.inPlace.Load():
		return nil, verbs.ErrNotSupported
	case k > 0:
		d := p.demands[k-1]
		p.demands[k-1], p.demands = nil, p.demands[:k-1]
		p.inUse++
		return d, nil
	}
	return nil, nil
}

// collect is Pool.Collect for a region on demand.
func (d *demand) collect(to []byte, n int) ([]byte, error) {
	if d.buf != nil {
		to = append(to, d.buf.Bytes[:n]...)
	} else {
		to = append(to, make([]byte, n)...)
	}
	d.pool.staged(n)
	if d.gone { // by Abandon
		return to, d.putMemory()
	}
	return to, errors.Join(d.putMemory(), d.keep(false))
}

// keep returns an unused demand to the Pool, or deregisters its region if the Pool cannot keep it.
// If never is set, the device does not support regions on demand.
func (d *demand) keep(never bool) error {
	p := d.pool
	p.mu.Lock()
	if never {
		p.inPlace.Store(true)
	}
	p.stats.Revocations += d.revocations
	d.revocations = 0
	keep := !p.closed && !p.inPlace.Load() && len(p.demands) < p.cfg.KeepIdle
	if keep {
		p.demands = append(p.demands, d)
		p.watch()
	} else {
		p.stats.Regions--
	}
	p.inUse--
	p.mu.Unlock()
	if keep {
		return nil
	}
	return d.mr.Deregister()
}

// putMemory gives back the memory of the region, if it has some. The region is invalid.
func (d *demand) putMemory() error {
	if d.buf == nil {
		return nil
	}
	b := d.buf
	d.buf = nil
	return d.pool.Put(b)
}
