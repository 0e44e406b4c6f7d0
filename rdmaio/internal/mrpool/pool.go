package mrpool

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Errors of a Pool.
var (
	// ErrInUse: Close while regions or buffers are given out.
	ErrInUse = errors.New("mrpool: regions or buffers are still in use")
	// ErrClosed: use after Close.
	ErrClosed = errors.New("mrpool: closed")
)

// Buffers come in classes, four to each doubling, so that at most a fifth of one
// is unused. Larger ones than the last are made to measure and not kept.
const (
	smallest = 512
	largest  = 4 << 20
	classes  = 4*13 + 1 // 13 doublings lie between the two
)

// classOf gives the class of n bytes, and its size; class 0 is made to measure.
func classOf(n int) (class, size int) {
	switch {
	case n <= smallest:
		return 1, smallest
	case n > largest:
		return 0, n
	}
	exp := bits.Len(uint(n-1)) - 1 // 2^exp < n <= 2^(exp+1)
	quarter := 1 << (exp - 2)
	k := (n - 1<<exp + quarter - 1) / quarter // 1 to 4
	return 1 + 4*(exp-9) + k, 1<<exp + k*quarter
}

// Config configures a Pool.
type Config struct {
	Heap     bool // DeviceAttributes.HeapMemory; without it Register works on copies
	KeepIdle int  // regions, and buffers of each size, kept for reuse; 0 keeps none
	// KeepBytes is how much memory unused buffers may hold in all, whatever sizes a
	// peer made us use; 0 keeps none.
	KeepBytes uint64
}

// Pool is the memory of one protection domain.
type Pool struct {
	pd  verbs.ProtectionDomain
	cfg Config

	emptying sync.Mutex // held until what was taken out has gone back to the domain

	mu      sync.Mutex
	closed  bool
	regions []verbs.MemoryRegion // invalid ones
	buffers [classes + 1][]*Buffer
	held    uint64 // bytes in buffers
	out     int    // regions and buffers given out
	stats   Stats
}

// Stats counts what a Pool did.
type Stats struct {
	Registrations uint64 // for peers and of foreign memory
	Staged        uint64 // bytes copied for want of Config.Heap, or by Detach or Collect
	Regions       int    // region objects alive for these
	Buffers       int    // buffers alive
	BufferBytes   uint64 // in them
}

// New makes a Pool over a domain, which must outlive it.
func New(pd verbs.ProtectionDomain, cfg Config) *Pool { return &Pool{pd: pd, cfg: cfg} }

// Region is a valid region of somebody's memory, or of a copy of it.
type Region struct {
	verbs.MemoryRegion
	user  []byte
	stage *Buffer // the copy; of a region made by Lend, the memory itself
}

// Register makes a valid region of buf, with a fresh key if access has a remote
// right. The caller gives it back with Release, and then with Unstage.
//
// A device that takes memory of its own only gets a copy; what it wrote there comes to buf by Unstage.
func (p *Pool) Register(buf []byte, access verbs.Access) (Region, error) {
	if p.cfg.Heap {
		mr, err := p.register(buf, access)
		return Region{MemoryRegion: mr}, err
	}
	b, err := p.Buffer(len(buf))
	if err != nil {
		return Region{}, err
	}
	if access&verbs.AccessRemoteWrite == 0 {
		p.copy(b.Bytes, buf)
	}
	mr, err := p.register(b.Bytes, access)
	if err != nil {
		return Region{}, errors.Join(err, p.Put(b))
	}
	return Region{MemoryRegion: mr, user: buf, stage: b}, nil
}

// Unstage ends the use of a region that was released. If it was of a copy, the first n bytes come from there.
func (p *Pool) Unstage(r *Region, n int) error {
	if r.stage == nil {
		return nil
	}
	p.copy(r.user[:n], r.stage.Bytes)
	return p.Put(r.stage)
}

// Lend makes a valid region of n bytes of the Pool's own memory. The caller gives it back with Release, and then with Collect.
func (p *Pool) Lend(n int, access verbs.Access) (Region, error) {
	b, err := p.Buffer(n)
	if err != nil {
		return Region{}, err
	}
	mr, err := p.register(b.Bytes, access)
	if err != nil {
		return Region{}, errors.Join(err, p.Put(b))
	}
	return Region{MemoryRegion: mr, stage: b}, nil
}

// Collect ends the use of a region that Lend made and that was released. It appends the first n bytes of the region to to.
func (p *Pool) Collect(r *Region, to []byte, n int) ([]byte, error) {
	to = append(to, r.stage.Bytes[:n]...)
	p.staged(n)
	return to, p.Put(r.stage)
}

// Detach frees the owner's memory of a valid region without ending the region: from now on its key stands for memory of the
// Pool, with the same bytes if the peer may read there. It reports false, and changes nothing, if the device cannot do so.
// The region is given back by Drop.
func (p *Pool) Detach(r *Region) (bool, error) {
	if r.stage != nil {
		r.user = nil
		return true, nil
	}
	d, ok := r.MemoryRegion.(verbs.Redirector)
	if !ok {
		return false, nil
	}
	buf := r.Bytes()
	b, err := p.Buffer(len(buf))
	if err != nil {
		return false, err
	}
	if r.Access()&verbs.AccessRemoteRead != 0 {
		p.copy(b.Bytes, buf)
	}
	if err := d.Redirect(b.Bytes); err != nil {
		err = errors.Join(err, p.Put(b))
		if errors.Is(err, verbs.ErrNotSupported) {
			err = nil
		}
		return false, err
	}
	r.stage = b
	return true, nil
}

// Drop ends a detached region, and waits for an access in progress.
func (p *Pool) Drop(r *Region) error {
	return errors.Join(p.Abandon(r), p.Put(r.stage))
}

// copy copies, and counts.
func (p *Pool) copy(to, from []byte) {
	p.staged(copy(to, from))
}

// staged counts bytes that were copied.
func (p *Pool) staged(n int) {
	p.mu.Lock()
	p.stats.Staged += uint64(n)
	p.mu.Unlock()
}

// register makes the region.
func (p *Pool) register(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("mrpool: register: %w", ErrClosed)
	}
	var mr verbs.MemoryRegion
	if n := len(p.regions); n > 0 {
		mr = p.regions[n-1]
		p.regions[n-1] = nil
		p.regions = p.regions[:n-1]
	}
	p.out++
	p.stats.Registrations++
	p.mu.Unlock()

	var err error
	made := mr == nil
	if made {
		mr, err = p.pd.RegisterMemory(buf, access)
	} else {
		err = mr.Reregister(buf, access)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && made:
		p.stats.Regions++
	case err != nil:
		p.out--
		if !made {
			p.regions = append(p.regions, mr)
		}
		return nil, err
	}
	return mr, nil
}

// Release ends a region's validity, and waits for an access in progress. After it
// the memory is its owner's. On an error the memory must not be touched before
// the connection is gone: then Abandon the region (R329).
func (p *Pool) Release(r *Region) error {
	if err := r.Invalidate(); err != nil {
		return err
	}
	return p.Ended(r)
}

// Ended takes a region back that the peer has invalidated, as the completion of
// a Receive reported: nothing is left to be waited for.
func (p *Pool) Ended(r *Region) error {
	p.mu.Lock()
	keep := !p.closed && len(p.regions) < p.cfg.KeepIdle
	if keep {
		p.regions = append(p.regions, r.MemoryRegion)
	} else {
		p.stats.Regions--
	}
	p.out--
	p.mu.Unlock()
	if keep {
		return nil
	}
	return r.Deregister()
}

// Abandon gives up a region that could not be released, once its queue pairs are disconnected.
func (p *Pool) Abandon(r *Region) error {
	err := r.Deregister()
	p.mu.Lock()
	p.out--
	p.stats.Regions--
	p.mu.Unlock()
	return err
}

// Buffer is registered memory that no peer has a right to. Its contents are what its last user left.
type Buffer struct {
	Bytes []byte // as long as asked for
	MR    verbs.MemoryRegion
	class int // 0: made to measure
	mem   []byte
}

// Buffer gives n bytes of registered memory, to be given back with Put.
func (p *Pool) Buffer(n int) (*Buffer, error) {
	class, size := classOf(n)
	return p.buffer(n, class, size)
}

// Exact gives n bytes that are made to measure and not kept: for memory of a size that is not asked for again.
func (p *Pool) Exact(n int) (*Buffer, error) { return p.buffer(n, 0, n) }

// buffer gives n bytes in a buffer of a class.
func (p *Pool) buffer(n, class, size int) (*Buffer, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("mrpool: buffer: %w", ErrClosed)
	}
	p.out++
	if k := len(p.buffers[class]); k > 0 {
		b := p.buffers[class][k-1]
		p.buffers[class][k-1] = nil
		p.buffers[class] = p.buffers[class][:k-1]
		p.held -= uint64(size)
		p.mu.Unlock()
		b.Bytes = b.mem[:n]
		return b, nil
	}
	p.mu.Unlock()

	b, err := p.make(size, class)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.out--
		return nil, fmt.Errorf("mrpool: buffer of %d bytes: %w", n, err)
	}
	p.stats.Buffers++
	p.stats.BufferBytes += uint64(size)
	b.Bytes = b.mem[:n]
	return b, nil
}

func (p *Pool) make(size, class int) (*Buffer, error) {
	mem, err := p.pd.Alloc(size)
	if err != nil {
		return nil, err
	}
	mr, err := p.pd.RegisterMemory(mem, verbs.AccessLocalWrite)
	if err != nil {
		return nil, errors.Join(err, p.pd.Free(mem))
	}
	return &Buffer{MR: mr, mem: mem, class: class}, nil
}

// Put gives a buffer back; no work request may name it any more.
func (p *Pool) Put(b *Buffer) error { return p.put(b, true) }

// Discard does so, and the Pool does not keep it.
func (p *Pool) Discard(b *Buffer) error { return p.put(b, false) }

func (p *Pool) put(b *Buffer, keep bool) error {
	b.Bytes = nil
	p.mu.Lock()
	p.out--
	size := uint64(len(b.mem))
	if keep && !p.closed && b.class > 0 && len(p.buffers[b.class]) < p.cfg.KeepIdle && p.held+size <= p.cfg.KeepBytes {
		p.buffers[b.class] = append(p.buffers[b.class], b)
		p.held += size
		p.mu.Unlock()
		return nil
	}
	p.stats.Buffers--
	p.stats.BufferBytes -= size
	p.mu.Unlock()
	return p.destroy(b)
}

func (p *Pool) destroy(b *Buffer) error {
	return errors.Join(b.MR.Deregister(), p.pd.Free(b.mem))
}

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Trim gives back what is kept for reuse.
func (p *Pool) Trim() error {
	p.emptying.Lock()
	defer p.emptying.Unlock()
	p.mu.Lock()
	regions, buffers := p.idle()
	p.mu.Unlock()
	return p.giveBack(regions, buffers)
}

// idle takes out all that is kept. mu is locked.
func (p *Pool) idle() (regions []verbs.MemoryRegion, buffers []*Buffer) {
	regions, p.regions = p.regions, nil
	p.stats.Regions -= len(regions)
	for i, list := range p.buffers {
		for _, b := range list {
			p.stats.Buffers--
			p.stats.BufferBytes -= uint64(len(b.mem))
			buffers = append(buffers, b)
		}
		p.buffers[i] = nil
	}
	p.held = 0
	return regions, buffers
}

// giveBack gives them to the domain.
func (p *Pool) giveBack(regions []verbs.MemoryRegion, buffers []*Buffer) error {
	var errs []error
	for _, mr := range regions {
		errs = append(errs, mr.Deregister())
	}
	for _, b := range buffers {
		errs = append(errs, p.destroy(b))
	}
	return errors.Join(errs...)
}

// Close gives everything back to the domain. ErrInUse if something was not given
// back to the Pool; what was is gone all the same. Idempotent.
func (p *Pool) Close() error {
	p.emptying.Lock()
	defer p.emptying.Unlock()
	p.mu.Lock()
	p.closed = true
	out := p.out
	regions, buffers := p.idle()
	p.mu.Unlock()
	err := p.giveBack(regions, buffers)
	if out > 0 {
		err = errors.Join(err, fmt.Errorf("mrpool: close: %d given out: %w", out, ErrInUse))
	}
	return err
}
