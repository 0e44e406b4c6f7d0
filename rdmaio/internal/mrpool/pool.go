package mrpool

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Errors of a Pool.
var (
	// ErrInUse is returned by Close while regions or buffers are in use.
	ErrInUse = errors.New("mrpool: still in use")
	// ErrClosed is returned by a Pool that is closed.
	ErrClosed = errors.New("mrpool: closed")
)

// Buffers have size classes, four for each doubling, so at most a fifth of a buffer is unused. Only
// Config.KeepBytes limits the kept memory: a buffer of any class may be kept.
const (
	smallest = 512
	largest  = 1 << 30
	classes  = 4*21 + 1 // 21 doublings from smallest to largest
)

// Size returns how many bytes of memory a Buffer of n bytes uses.
func Size(n int) int {
	_, size := classOf(n)
	return size
}

// classOf returns the class for n bytes, and its size. Class 0 has the size asked for.
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
	Heap     bool // DeviceAttributes.HeapMemory; if false, Register registers copies
	KeepIdle int  // number of regions, and of buffers of each class, kept for reuse
	// KeepBytes is the size in bytes of all buffers together that are kept for reuse. It bounds
	// them where a peer makes us use buffers of many classes. If zero, no buffers are kept. After
	// 30 s to a minute only as much is kept as was in use at once in that time.
	KeepBytes uint64
	// KeepPeak keeps more than KeepBytes for a second or two after as many were in use, so that a
	// load which needs them does not allocate them again and again.
	KeepPeak bool
	// Keep, unless it is nil, is asked before n more bytes are kept, and called with -n when they
	// are kept no more. It must not block.
	Keep func(n int) bool
}

// Pool has the regions and buffers of one protection domain.
type Pool struct {
	pd  verbs.ProtectionDomain
	cfg Config

	trimming sync.Mutex // locked until the regions and buffers of takeRegions and evict are freed

	mu      sync.Mutex
	closed  bool
	regions []idleRegion
	demands []*demand   // invalid ones, without memory
	inPlace atomic.Bool // the device has no regions on demand
	kept    shelf       // buffers
	usage   usage       // of buffers
	seen    uint64      // Stats.Registrations when the last rest period was over
	bursts  *time.Timer // fires after a burst period, while over KeepBytes are kept
	rests   *time.Timer // fires after a period of rest, while anything is kept
	lateErr error       // of freeing memory then
	inUse   int         // regions and buffers
	stats   Stats

	revoker verbs.Revoker // nil: none
}

// Stats are the counts of a Pool.
type Stats struct {
	Registrations uint64 // by Register and RegisterOwn, except for local copies
	Remote        uint64 // of these, those with a right for the peer
	Revocations   uint64 // of these, those that Release or Revoked has invalidated
	Staged        uint64 // bytes copied without Config.Heap, or by Detach or Collect
	Regions       int    // region objects that exist for these
	Buffers       int    // buffers that exist
	BufferBytes   uint64 // in them
	Pinned        uint64 // bytes of memory that is registered now: in buffers and of callers
}

// New returns a Pool over a protection domain, which must outlive it.
func New(pd verbs.ProtectionDomain, cfg Config) *Pool {
	p := &Pool{pd: pd, cfg: cfg, kept: shelf{may: cfg.Keep}}
	p.inPlace.Store(!cfg.Heap)
	return p
}

// idleRegion is an invalid region that is kept. It holds the caller's memory of its last
// registration (Bytes), so many bytes.
type idleRegion struct {
	verbs.MemoryRegion
	holds int
}

// Region is a valid region. Its memory is the caller's, or a copy, or belongs to the Pool.
type Region struct {
	verbs.MemoryRegion
	stage  *Buffer // the copy; for RegisterOwn the memory itself
	demand *demand // or what provides that memory
	pinned int     // bytes of the caller's memory
	remote bool    // the peer has a right
	local  bool    // it is the region of stage itself
}

// Len returns the region's length in bytes.
func (r *Region) Len() int {
	if r.demand != nil {
		return r.demand.size
	}
	return len(r.Bytes())
}

// Register returns a valid region of buf, with a new key if access has a remote right. The caller
// gives it back with Release and then Unstage.
//
// Without Config.Heap the region is of a copy. Unstage copies the bytes that the peer wrote to buf.
func (p *Pool) Register(buf []byte, access verbs.Access) (Region, error) {
	if p.cfg.Heap {
		mr, err := p.register(buf, access, len(buf))
		return Region{MemoryRegion: mr, pinned: len(buf), remote: access.Remote()}, err
	}
	return p.RegisterCopy(buf, access)
}

// RegisterCopy is like Register, but the region is of a copy in any case. Without a right for the
// peer it is the region that the memory of the copy has already, which may be longer than buf.
func (p *Pool) RegisterCopy(buf []byte, access verbs.Access) (Region, error) {
	b, err := p.Buffer(len(buf))
	if err != nil {
		return Region{}, err
	}
	if access&verbs.AccessRemoteWrite == 0 {
		p.copy(b.Bytes, buf)
	}
	b.user = buf
	if !access.Remote() {
		return Region{MemoryRegion: b.MR, stage: b, local: true}, nil
	}
	mr, err := p.register(b.Bytes, access, 0)
	if err != nil {
		return Region{}, errors.Join(err, p.Put(b))
	}
	return Region{MemoryRegion: mr, stage: b, remote: true}, nil
}

// Unstage gives up a released region. If its memory is a copy, Unstage copies the first n bytes
// to the memory that was registered.
func (p *Pool) Unstage(r *Region, n int) error {
	if r.stage == nil {
		return nil
	}
	p.copy(r.stage.user[:n], r.stage.Bytes)
	return p.Put(r.stage)
}

// RegisterOwn returns a valid region with n bytes of the Pool's memory. The caller gives it back
// with Release and then Collect.
func (p *Pool) RegisterOwn(n int, access verbs.Access) (Region, error) {
	b, err := p.Buffer(n)
	if err != nil {
		return Region{}, err
	}
	mr, err := p.register(b.Bytes, access, 0)
	if err != nil {
		return Region{}, errors.Join(err, p.Put(b))
	}
	return Region{MemoryRegion: mr, stage: b, remote: access.Remote()}, nil
}

// Collect gives up a released region that RegisterOwn returned. It appends the first n bytes of the
// region to to. They are zeros if the peer has written nothing.
func (p *Pool) Collect(r *Region, to []byte, n int) ([]byte, error) {
	if r.demand != nil {
		return r.demand.collect(to, n)
	}
	to = append(to, r.stage.Bytes[:n]...)
	p.staged(n)
	return to, p.Put(r.stage)
}

// Detach frees the caller's memory of a valid region and keeps the region valid: its key then
// stands for memory of the Pool, with the same bytes if the peer may read them. If the device does
// not support that, Detach changes nothing and returns false. The caller gives a detached region
// back with Drop.
func (p *Pool) Detach(r *Region) (bool, error) {
	if r.stage != nil {
		r.stage.user = nil
		return true, nil
	}
	if r.demand != nil {
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
	p.unpin(r)
	return true, nil
}

// copy copies bytes and counts them.
func (p *Pool) copy(to, from []byte) {
	p.staged(copy(to, from))
}

// staged adds n to Stats.Staged.
func (p *Pool) staged(n int) {
	p.mu.Lock()
	p.stats.Staged += uint64(n)
	p.mu.Unlock()
}

// unpin stops to count the caller's memory of a region.
func (p *Pool) unpin(r *Region) {
	p.mu.Lock()
	p.stats.Pinned -= uint64(r.pinned)
	p.mu.Unlock()
	r.pinned = 0
}

// register registers buf, with a kept region object if there is one. pinned is the number of its
// bytes that are not in a buffer.
func (p *Pool) register(buf []byte, access verbs.Access, pinned int) (verbs.MemoryRegion, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("mrpool: register: %w", ErrClosed)
	}
	var mr verbs.MemoryRegion
	if n := len(p.regions); n > 0 {
		mr = p.regions[n-1].MemoryRegion
		p.kept.mayHold(-p.regions[n-1].holds)
		p.regions[n-1] = idleRegion{}
		p.regions = p.regions[:n-1]
	}
	p.inUse++
	p.stats.Registrations++
	p.stats.Pinned += uint64(pinned)
	if access.Remote() {
		p.stats.Remote++
	}
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
		p.inUse--
		p.stats.Pinned -= uint64(pinned)
		if !made {
			p.regions = append(p.regions, idleRegion{mr, 0})
		}
		return nil, err
	}
	return mr, nil
}

// Buffer is registered memory without rights for the peer. It has the contents that its last user
// left.
type Buffer struct {
	Bytes []byte // of the length asked for
	MR    verbs.MemoryRegion
	user  []byte // of which Bytes are a copy
	class int    // 0: of the size asked for
	mem   []byte
}

// Buffer returns n bytes of registered memory. The caller gives it back with Put or Discard.
func (p *Pool) Buffer(n int) (*Buffer, error) {
	class, size := classOf(n)
	return p.buffer(n, class, size)
}

// Exact returns n bytes of registered memory in a buffer of just that size, which Put does not
// keep. It is for sizes that are not needed again.
func (p *Pool) Exact(n int) (*Buffer, error) { return p.buffer(n, 0, n) }

// buffer returns n bytes in a buffer of a class and its size.
func (p *Pool) buffer(n, class, size int) (*Buffer, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("mrpool: buffer: %w", ErrClosed)
	}
	p.inUse++
	if b := p.kept.take(class); b != nil {
		p.usage.add(uint64(size))
		p.mu.Unlock()
		b.Bytes = b.mem[:n]
		return b, nil
	}
	p.mu.Unlock()

	b, err := newBuffer(p.pd, size, class)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.inUse--
		return nil, fmt.Errorf("mrpool: buffer of %d bytes: %w", n, err)
	}
	p.stats.Buffers++
	p.stats.BufferBytes += uint64(size)
	p.stats.Pinned += uint64(size)
	p.usage.add(uint64(size))
	b.Bytes = b.mem[:n]
	return b, nil
}

// newBuffer allocates and registers a buffer.
func newBuffer(pd verbs.ProtectionDomain, size, class int) (*Buffer, error) {
	mem, err := pd.Alloc(size)
	if err != nil {
		return nil, err
	}
	mr, err := pd.RegisterMemory(mem, verbs.AccessLocalWrite)
	if err != nil {
		return nil, errors.Join(err, pd.Free(mem))
	}
	return &Buffer{MR: mr, mem: mem, class: class}, nil
}

// Put gives a buffer back. No work request may use it any more.
func (p *Pool) Put(b *Buffer) error { return p.put(b, true) }

// Discard is like Put, but the Pool does not keep the buffer.
func (p *Pool) Discard(b *Buffer) error { return p.put(b, false) }

// put keeps the buffer if it may, or frees it.
func (p *Pool) put(b *Buffer, keep bool) error {
	b.Bytes, b.user = nil, nil
	p.mu.Lock()
	p.inUse--
	size := uint64(len(b.mem))
	p.usage.used -= size
	if keep && !p.closed && b.class > 0 && p.kept.count(b.class) < p.cfg.KeepIdle && p.kept.bytes+size <= p.usage.mayKeep(&p.cfg) && p.kept.put(b) {
		p.watch()
		p.mu.Unlock()
		return nil
	}
	p.stats.Buffers--
	p.stats.BufferBytes -= size
	p.stats.Pinned -= size
	p.mu.Unlock()
	return b.free(p.pd)
}

// free deregisters and frees a buffer.
func (b *Buffer) free(pd verbs.ProtectionDomain) error {
	return errors.Join(b.MR.Deregister(), pd.Free(b.mem))
}

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// takeRegions removes and returns all kept regions. The caller holds mu.
func (p *Pool) takeRegions() (regions []verbs.MemoryRegion) {
	for _, r := range p.regions {
		p.kept.mayHold(-r.holds)
		regions = append(regions, r.MemoryRegion)
	}
	p.regions = nil
	for _, d := range p.demands {
		regions = append(regions, d.mr)
	}
	p.demands = nil
	p.stats.Regions -= len(regions)
	return regions
}

// freeAll frees regions and buffers.
func (p *Pool) freeAll(regions []verbs.MemoryRegion, buffers []*Buffer) error {
	var errs []error
	for _, mr := range regions {
		errs = append(errs, mr.Deregister())
	}
	for _, b := range buffers {
		errs = append(errs, b.free(p.pd))
	}
	return errors.Join(errs...)
}

// Close frees all kept regions and buffers, and closes the Pool. If regions or buffers are in use,
// it returns ErrInUse; they are freed when they are given back. Close may be called again.
func (p *Pool) Close() error {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	p.mu.Lock()
	p.closed = true
	for _, t := range [...]*time.Timer{p.bursts, p.rests} {
		if t != nil {
			t.Stop()
		}
	}
	out := p.inUse
	regions, buffers := p.takeRegions(), p.evict(0)
	err := p.lateErr
	p.mu.Unlock()
	err = errors.Join(err, p.freeAll(regions, buffers))
	if out > 0 {
		err = errors.Join(err, fmt.Errorf("mrpool: close: %d regions and buffers: %w", out, ErrInUse))
	}
	return err
}
