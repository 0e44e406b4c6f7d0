package sim

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// errRegister is the error of a registration that fails.
var errRegister = errors.New("sim: the device has no region left")

// domain is the protection domain of an end, over which it has the product's pool of regions on
// demand, for reply chunks: such a region gets memory when the peer first writes to it.
//
//	RegisterOnDemand ──> object.r, without memory ── the peer writes ──> provide ──> Alloc
//	Release or Invalidated ──> Collect ──> the reply; the pool keeps the object
type domain struct {
	verbs.ProtectionDomain // the rest is not called
	m                      *memory
	pool                   *mrpool.Pool
	allocs                 int // Alloc without Free
}

func newDomain(m *memory) *domain {
	d := &domain{m: m}
	d.pool = mrpool.New(d, mrpool.Config{Heap: true, KeepIdle: 4, KeepBytes: 16 << 10})
	return d
}

// Alloc implements verbs.ProtectionDomain.
func (d *domain) Alloc(n int) ([]byte, error) {
	if d.m.w.chance(NoMemory) {
		return nil, errMemory
	}
	d.allocs++
	return poisoned(n), nil
}

// Free implements verbs.ProtectionDomain.
func (d *domain) Free([]byte) error {
	d.allocs--
	return nil
}

// RegisterMemory implements verbs.ProtectionDomain. The peer has no right.
func (d *domain) RegisterMemory(buf []byte, _ verbs.Access) (verbs.MemoryRegion, error) {
	if d.m.w.chance(NoRegister) {
		return nil, errRegister
	}
	return &object{m: d.m, bytes: buf}, nil
}

// verdict closes the pool. No region or buffer may be in use.
func (d *domain) verdict() {
	if err := d.pool.Close(); err != nil || d.allocs != 0 {
		d.m.w.fail("%s closes its pool: %v, and has %d allocations", d.m.name, err, d.allocs)
	}
}

// object is a region of a domain. Each registration for the peer is a region of the simulation.
type object struct {
	verbs.MemoryRegion // the rest is not called
	m                  *memory
	bytes              []byte
	r                  *region // the registration for the peer, or nil
}

// Bytes implements verbs.MemoryRegion.
func (o *object) Bytes() []byte { return o.bytes }

// Invalidate implements verbs.MemoryRegion.
func (o *object) Invalidate() error {
	if o.r != nil {
		o.r.live = false
	}
	return nil
}

// Deregister implements verbs.MemoryRegion.
func (o *object) Deregister() error { return o.Invalidate() }

// ReregisterOnDemand implements verbs.OnDemand.
func (o *object) ReregisterOnDemand(size int, access verbs.Access, provide func() ([]byte, error)) error {
	if o.m.w.chance(NoRegister) {
		return errRegister
	}
	o.r = o.m.register(nil, access)
	o.r.size, o.r.provide = size, provide
	return nil
}

// onDemand registers n bytes for the reply to an RPC, without memory.
func (p *rpc) onDemand(e *end, n int) (*region, error) {
	mr, err := e.domain.pool.RegisterOnDemand(n, verbs.AccessRemoteWrite)
	if err != nil {
		return nil, err
	}
	p.demand = &mr
	return mr.MemoryRegion.(*object).r, nil
}

// collect takes back the region for the reply to an RPC, and the reply of n bytes, if it is there.
func (p *rpc) collect(n int) {
	pool, r := p.end.domain.pool, p.demand.MemoryRegion.(*object).r
	take := pool.Invalidated
	if r.live && !p.end.w.cfg.Bugs.KeepKey {
		take = pool.Release
	}
	err := take(p.demand)
	if err == nil {
		p.reply, err = pool.Collect(p.demand, nil, n)
	}
	if err != nil {
		p.end.w.fail("RPC %d: %v", p.tag, err)
	}
	p.demand = nil
}
