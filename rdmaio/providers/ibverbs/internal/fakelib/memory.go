//go:build linux

package fakelib

import (
	"math/bits"
	"math/rand/v2"
	"os"
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

type pd struct {
	dev  *Device
	mem  []byte
	keys map[uint32]any // *mr and *mw by index, which is the key without its low byte
	uses int            // queue pairs, regions and windows
}

type mr struct {
	pd      *pd
	mem     []byte
	key     uint32 // for the peer, and in local invalidations
	local   uint32 // for requests of this side; of the same index
	addr    uintptr
	size    int
	access  abi.Access
	invalid bool
	windows int // that are bound to it
}

// A mw is a window of type 2: free, or bound to a queue pair and a range.
type mw struct {
	pd     *pd
	mem    []byte
	key    uint32
	mr     *mr // nil if it is free
	qp     *qp // the last one that it was bound to
	addr   uintptr
	size   int
	access abi.Access
}

// free makes a window invalid.
func (w *mw) free() {
	if w.mr != nil {
		w.mr.windows--
		w.mr = nil
	}
}

// AllocPD implements lib.Lib.
func (h *libibverbs) AllocPD(ctx lib.Context) (lib.PD, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	d, err := h.device("ibv_alloc_pd", ctx)
	if err != nil {
		return 0, err
	}
	if err := take("ibv_alloc_pd", &d.have.pds, d.attr.MaxPD); err != nil {
		return 0, err
	}
	p := &pd{dev: d, keys: map[uint32]any{}}
	p.mem = h.net.add(p)
	return lib.PD(abi.Addr(p.mem)), nil
}

// DeallocPD implements lib.Lib.
func (h *libibverbs) DeallocPD(handle lib.PD) error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse("ibv_dealloc_pd"); err != nil {
		return err
	}
	p, err := find[*pd](h.net, "ibv_dealloc_pd", uintptr(handle))
	if err != nil {
		return err
	}
	if p.uses > 0 {
		return fail("ibv_dealloc_pd", syscall.EBUSY)
	}
	p.dev.have.pds--
	h.net.remove(p.mem)
	return nil
}

// domain returns the domain of a handle for a call of fn.
func (h *libibverbs) domain(fn string, handle lib.PD) (*pd, error) {
	if err := h.refuse(fn); err != nil {
		return nil, err
	}
	p, err := find[*pd](h.net, fn, uintptr(handle))
	if err == nil && p.dev.removed {
		err = fail(fn, syscall.EIO)
	}
	return p, err
}

// newKey returns a key with an unused index.
func (p *pd) newKey() uint32 {
	n := p.dev.net
	if p.dev.quirks.GuessableKeys {
		n.lastKey++
		return n.lastKey<<8 | rand.Uint32()&0xff
	}
	for {
		key := rand.Uint32()
		if _, used := p.keys[key>>8]; !used && key>>8 != 0 {
			return key
		}
	}
}

var pageSize = os.Getpagesize()

// pages returns the bytes of the pages that hold size bytes at addr.
func pages(addr uintptr, size int) int {
	first := addr &^ uintptr(pageSize-1)
	last := (addr + uintptr(size) + uintptr(pageSize) - 1) &^ uintptr(pageSize-1)
	return int(last - first)
}

// cqBytes and qpBytes return the sizes of queues as libmlx5 computes them (rdma-core,
// providers/mlx5/verbs.c, mlx5_calc_send_wqe and its neighbors): an entry of a send queue has 192
// bytes, in which a window can be bound, and 16 for each element of a list, in blocks of 64.
func cqBytes(entries int) int { return powerOfTwo(entries+1) * 64 }

func qpBytes(attr *abi.QPInitAttr) int {
	send := (192 + attr.MaxSendSGE*16 + 63) &^ 63
	return powerOfTwo(attr.MaxSendWR*send) + powerOfTwo(attr.MaxRecvWR)*powerOfTwo(16*max(attr.MaxRecvSGE, 1))
}

// powerOfTwo returns the least power of two that is at least n.
func powerOfTwo(n int) int {
	if n <= 1 {
		return max(n, 0)
	}
	return 1 << bits.Len(uint(n-1))
}

// lock counts n bytes of locked memory.
func (h *libibverbs) lock(fn string, n int) error {
	if h.memLimit > 0 && h.locked+n > h.memLimit {
		return fail(fn, syscall.ENOMEM)
	}
	h.locked += n
	return nil
}

// Locked returns the bytes of locked memory.
func (h *libibverbs) Locked() int {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return h.locked
}

// RegMR implements lib.Lib.
func (h *libibverbs) RegMR(handle lib.PD, addr uintptr, size int, access abi.Access) (lib.MR, error) {
	const fn = "ibv_reg_mr"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	p, err := h.domain(fn, handle)
	if err != nil {
		return 0, err
	}
	if size < 0 || uint64(size) > p.dev.attr.MaxMRSize || access&abi.RemoteWrite != 0 && access&abi.LocalWrite == 0 {
		return 0, fail(fn, syscall.EINVAL)
	}
	if access&abi.MWBind != 0 && p.dev.quirks.NoWindows {
		return 0, fail(fn, syscall.EOPNOTSUPP)
	}
	d := p.dev
	if err := take(fn, &d.have.mrs, d.attr.MaxMR); err != nil {
		return 0, err
	}
	if err := h.lock(fn, pages(addr, size)); err != nil {
		d.have.mrs--
		return 0, err
	}
	m := &mr{pd: p, key: p.newKey(), addr: addr, size: size, access: access}
	m.mem = h.net.add(m)
	if m.local = m.key; p.dev.manners.DistinctKeys {
		m.local ^= 0x80
	}
	abi.MRFields{LKey: m.local, RKey: m.key}.Put(m.mem)
	p.keys[m.key>>8] = m
	p.uses++
	return lib.MR(abi.Addr(m.mem)), nil
}

// DeregMR implements lib.Lib. It waits for Read Responses that are being sent.
func (h *libibverbs) DeregMR(handle lib.MR) error {
	const fn = "ibv_dereg_mr"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return err
	}
	m, err := find[*mr](h.net, fn, uintptr(handle))
	if err != nil {
		return err
	}
	if m.windows > 0 {
		return fail(fn, syscall.EBUSY)
	}
	delete(m.pd.keys, m.key>>8)
	m.invalid = true
	for !m.pd.dev.quirks.DeregLeavesReads && h.net.reading(m) {
		h.net.changed.Wait()
	}
	m.pd.uses--
	h.locked -= pages(m.addr, m.size)
	m.pd.dev.have.mrs--
	h.net.remove(m.mem)
	return nil
}

// reading reports whether a Read Response from the region is being sent.
func (n *Net) reading(m *mr) bool {
	for _, o := range n.objects {
		if q, ok := o.(*qp); ok {
			for _, r := range q.sq {
				if r.from == m && !r.done {
					return true
				}
			}
		}
	}
	return false
}

// AllocMW implements lib.Lib.
func (h *libibverbs) AllocMW(handle lib.PD) (lib.MW, error) {
	const fn = "ibv_alloc_mw"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	p, err := h.domain(fn, handle)
	if err != nil {
		return 0, err
	}
	if q := p.dev.quirks; q.NoWindows || q.WindowsAbsent {
		return 0, fail(fn, syscall.EOPNOTSUPP)
	}
	if err := take(fn, &p.dev.have.mws, p.dev.attr.MaxMW); err != nil {
		return 0, err
	}
	w := &mw{pd: p, key: p.newKey()}
	w.mem = h.net.add(w)
	abi.SetMWKey(abi.Addr(w.mem), w.key)
	p.keys[w.key>>8] = w
	p.uses++
	return lib.MW(abi.Addr(w.mem)), nil
}

// DeallocMW implements lib.Lib.
func (h *libibverbs) DeallocMW(handle lib.MW) error {
	const fn = "ibv_dealloc_mw"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return err
	}
	w, err := find[*mw](h.net, fn, uintptr(handle))
	if err != nil {
		return err
	}
	w.free()
	delete(w.pd.keys, w.key>>8)
	w.pd.uses--
	w.pd.dev.have.mws--
	h.net.remove(w.mem)
	return nil
}
