package ibverbs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// region implements verbs.MemoryRegion. What makes it valid at the device is one of
//
//   - nothing: it has no remote right, and requests use the key of its slab;
//   - a window over its range of the slab, bound by the queue pair of the domain;
//   - own, a registration of exactly its bytes.
//
// Locks are taken in the order queuePair.mu, region.mu.
type region struct {
	pd *domain

	posted atomic.Int32 // elements of posted requests that name the region

	mu     sync.Mutex
	state  verbs.MRState
	buf    []byte // of the last registration
	access verbs.Access
	addr   uintptr // of buf
	lkey   uint32  // for requests of this side
	key    uint32  // for the peer, or 0
	window *window // nil: not bound. Changing it takes its queue pair's lock, too
	own    lib.MR  // 0: not registered itself
	sink   lib.MR  // a registration whose key Reads of this side use, or 0: see Device.sink
}

// Bytes implements verbs.MemoryRegion.
func (r *region) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf
}

// Access implements verbs.MemoryRegion.
func (r *region) Access() verbs.Access {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.access
}

// RKey implements verbs.MemoryRegion.
func (r *region) RKey() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key
}

// RemoteAddr implements verbs.MemoryRegion.
func (r *region) RemoteAddr() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(r.addr)
}

// State implements verbs.MemoryRegion.
func (r *region) State() verbs.MRState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// reachable returns the range that can be accessed through the region: nothing if it is invalid.
func (r *region) reachable() (addr uintptr, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != verbs.MRValid {
		return 0, 0
	}
	return r.addr, len(r.buf)
}

// Reregister implements verbs.MemoryRegion.
func (r *region) Reregister(buf []byte, access verbs.Access) error {
	if err := r.pd.dev.usable(); err != nil {
		return err
	}
	if r.State() == verbs.MRDeregistered { // first: Bytes is nil then
		return closed("reregister")
	}
	s, err := r.pd.checkBuffer(buf, access)
	if err != nil {
		return err
	}
	sink, lkey, err := r.pd.dev.sink(r.pd, s, buf, access)
	if err != nil {
		return err
	}
	if err := r.register(s, buf, access, lkey); err != nil {
		return errors.Join(err, r.pd.dev.deregister(sink))
	}
	if sink != 0 {
		r.mu.Lock()
		r.sink = sink
		r.mu.Unlock()
	}
	return nil
}

// register makes the region valid: by a window, by a registration, or, without remote rights, by
// neither.
func (r *region) register(s *slab, buf []byte, access verbs.Access, lkey uint32) error {
	d := r.pd.dev
	if access.Remote() && d.windows {
		if q := r.pd.binder(); q != nil {
			if bound, err := q.win.bind(r, s, buf, access, lkey); bound || err != nil {
				return err
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.renewable(); err != nil {
		return err
	}
	key, own := uint32(0), lib.MR(0)
	if access.Remote() {
		var err error
		if own, err = d.lib.RegMR(r.pd.pd, address(buf), len(buf), rights(access)); err != nil {
			return d.memoryError(fmt.Sprintf("register %d bytes", len(buf)), len(buf), err)
		}
		f := abi.MR(uintptr(own))
		key = f.RKey
		if lkey == s.lkey {
			lkey = f.LKey
		}
	}
	r.renew(buf, access, lkey, key)
	r.own = own
	return nil
}

// sink returns the local key of a region. It is the slab's, unless the region can be the sink of
// Reads and the device needs the right of remote writing for that, as iWARP does (RFC 5040 §5.1):
// then a registration of exactly the bytes has it, and the peer sees that key in Reads only.
func (d *hardware) sink(pd *domain, s *slab, buf []byte, access verbs.Access) (lib.MR, uint32, error) {
	if !d.quirks.SinkNeedsRemoteWrite || access&verbs.AccessLocalWrite == 0 {
		return 0, s.lkey, nil
	}
	mr, err := d.lib.RegMR(pd.pd, address(buf), len(buf), abi.LocalWrite|abi.RemoteWrite)
	if err != nil {
		return 0, 0, d.memoryError(fmt.Sprintf("register %d bytes", len(buf)), len(buf), err)
	}
	return mr, abi.MR(uintptr(mr)).LKey, nil
}

// deregister removes a registration, if mr is not 0.
func (d *hardware) deregister(mr lib.MR) error {
	if mr == 0 {
		return nil
	}
	if err := d.lib.DeregMR(mr); err != nil && !d.gone() {
		return d.fail("deregister a region", err)
	}
	return nil
}

// rights returns the rights at the device of a region.
func rights(access verbs.Access) (to abi.Access) {
	if access&verbs.AccessLocalWrite != 0 {
		to |= abi.LocalWrite
	}
	if access&verbs.AccessRemoteRead != 0 {
		to |= abi.RemoteRead
	}
	if access&verbs.AccessRemoteWrite != 0 {
		to |= abi.RemoteWrite
	}
	return to
}

// renewable returns an error if the region cannot be registered again. The caller holds r.mu.
func (r *region) renewable() error {
	switch r.state {
	case verbs.MRValid:
		return fmt.Errorf("ibverbs: reregister: region is valid; invalidate it first: %w", verbs.ErrBusy)
	case verbs.MRDeregistered:
		return closed("reregister")
	}
	return nil
}

// closed returns the error of a call for a deregistered region.
func closed(call string) error {
	return fmt.Errorf("ibverbs: %s: region: %w", call, verbs.ErrClosed)
}

// renew makes the region valid. The caller holds r.mu.
func (r *region) renew(buf []byte, access verbs.Access, lkey, key uint32) {
	r.state, r.buf, r.access, r.addr, r.lkey, r.key = verbs.MRValid, buf, access, address(buf), lkey, key
}

// checkBuffer checks the arguments of a registration, and returns the slab of the buffer.
func (pd *domain) checkBuffer(buf []byte, access verbs.Access) (*slab, error) {
	if err := pd.dev.usable(); err != nil {
		return nil, err
	}
	switch {
	case len(buf) == 0:
		return nil, fmt.Errorf("ibverbs: register: empty buffer: %w", verbs.ErrInvalidValue)
	case uint64(len(buf)) > pd.dev.attrs.MaxMRSize:
		return nil, pd.dev.sizeError(fmt.Sprintf("register %d bytes", len(buf)), len(buf))
	case !access.Valid():
		return nil, fmt.Errorf("ibverbs: register: access %v is no valid set of rights: %w", access, verbs.ErrInvalidValue)
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	return pd.locate(buf)
}

// Invalidate implements verbs.MemoryRegion.
func (r *region) Invalidate() error {
	if r.State() == verbs.MRDeregistered {
		return closed("invalidate")
	}
	if q := r.binder(); q != nil {
		q.win.revokeAndWait(r)
		return nil
	}
	return r.expire(verbs.MRInvalid)
}

// binder returns the queue pair of the region's window, or nil.
func (r *region) binder() *queuePair {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.window == nil {
		return nil
	}
	return r.window.qp
}

// Deregister implements verbs.MemoryRegion. A window is deallocated, which does not wait for the
// peer as a request would, unless requests of the window itself are posted.
func (r *region) Deregister() error {
	if q := r.binder(); q != nil {
		q.win.discard(r)
	}
	r.mu.Lock()
	done := r.state == verbs.MRDeregistered
	r.mu.Unlock()
	if done {
		return nil
	}
	err := r.expire(verbs.MRDeregistered)
	r.mu.Lock()
	r.buf = nil
	r.mu.Unlock()
	r.pd.forget(r)
	return err
}

// expire invalidates a region that is not bound to a window, and waits until requests of this side
// cannot use it.
func (r *region) expire(state verbs.MRState) error {
	r.mu.Lock()
	if r.state == verbs.MRDeregistered {
		r.mu.Unlock()
		return nil
	}
	was, own, sink := r.state, r.own, r.sink
	r.state, r.own, r.sink = state, 0, 0
	r.mu.Unlock()
	err := errors.Join(r.pd.dev.deregister(own), r.pd.dev.deregister(sink))
	if was == verbs.MRValid && own == 0 {
		r.evict()
	}
	return err
}

// evict makes the queue pairs fail on which posted requests name the region, and waits for that. It
// must, because the region's memory has the key of its slab, so the device would still use it.
func (r *region) evict() {
	if r.posted.Load() == 0 {
		return
	}
	for _, q := range r.pd.queuePairs() {
		q.evict(r)
	}
}

// element is a checked scatter/gather element.
type element struct {
	region *region
	addr   uintptr
	length uint32
	lkey   uint32
}

// use checks an element of a request and counts it as posted.
func (r *region) use(off, n int, need verbs.Access) (element, error) {
	r.posted.Add(1) // first: expire looks at it after it has changed the state
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	switch {
	case r.state != verbs.MRValid:
		err = fmt.Errorf("region is %v: %w", r.state, verbs.ErrAccess)
	case off < 0 || n < 0 || off > len(r.buf) || n > len(r.buf)-off:
		err = fmt.Errorf("offset %d and length %d are not within the %d bytes of the region: %w", off, n, len(r.buf), verbs.ErrInvalidWR)
	case r.access&need != need:
		err = fmt.Errorf("region has no %v right: %w", need, verbs.ErrAccess)
	}
	if err != nil {
		r.posted.Add(-1)
		return element{}, err
	}
	return element{region: r, addr: r.addr + uintptr(off), length: uint32(n), lkey: r.lkey}, nil
}

// check appends the checked form of a request's list to to. It returns the sum of its lengths.
func (pd *domain) check(to []element, sgl []verbs.SGE, limit, longest int, need verbs.Access) (_ []element, total int, err error) {
	if len(sgl) > limit {
		return to, 0, fmt.Errorf("%d elements, limit is %d: %w", len(sgl), limit, verbs.ErrInvalidWR)
	}
	for i, e := range sgl {
		r, ok := e.MR.(*region)
		var el element
		switch {
		case e.MR == nil:
			err = fmt.Errorf("element %d has no region: %w", i, verbs.ErrInvalidWR)
		case !ok || r.pd != pd:
			err = fmt.Errorf("element %d: %w", i, verbs.ErrForeignObject)
		default:
			if el, err = r.use(e.Offset, e.Length, need); err != nil {
				err = fmt.Errorf("element %d: %w", i, err)
				break
			}
			to = append(to, el)
			if e.Length > longest-total {
				err = fmt.Errorf("element %d makes the message longer than %d bytes: %w", i, longest, verbs.ErrTooLarge)
			}
			total += e.Length
		}
		if err != nil {
			release(to)
			return to[:0], 0, err
		}
	}
	return to, total, nil
}

// release counts elements as not posted any more.
func release(list []element) {
	for i := range list {
		list[i].region.posted.Add(-1)
	}
}
