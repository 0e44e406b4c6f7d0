package ibverbs

import (
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// MemoryCalls counts the calls of a device's library that cost an ioctl each. It leaves out queues
// and domains. Binds of windows are posted, and cost no ioctl.
type MemoryCalls struct {
	lib.Lib
	Registered, Deregistered, Allocated, Deallocated, Armed atomic.Int64
}

// RegMR implements lib.Lib.
func (c *MemoryCalls) RegMR(pd lib.PD, addr uintptr, size int, access abi.Access) (lib.MR, error) {
	c.Registered.Add(1)
	return c.Lib.RegMR(pd, addr, size, access)
}

// DeregMR implements lib.Lib.
func (c *MemoryCalls) DeregMR(mr lib.MR) error {
	c.Deregistered.Add(1)
	return c.Lib.DeregMR(mr)
}

// AllocMW implements lib.Lib.
func (c *MemoryCalls) AllocMW(pd lib.PD) (lib.MW, error) {
	c.Allocated.Add(1)
	return c.Lib.AllocMW(pd)
}

// DeallocMW implements lib.Lib.
func (c *MemoryCalls) DeallocMW(mw lib.MW) error {
	c.Deallocated.Add(1)
	return c.Lib.DeallocMW(mw)
}

// ReqNotify implements lib.Lib.
func (c *MemoryCalls) ReqNotify(cq lib.CQ, solicitedOnly bool) error {
	c.Armed.Add(1)
	return c.Lib.ReqNotify(cq, solicitedOnly)
}

// OpenCounted is Open, and returns the counts of the device's library. With windows, it also uses
// windows that do not protect the memory around them, such as rxe's. The peer cannot
// invalidate them: an invalidation by both sides stops a kernel with rxe.
func OpenCounted(cfg *Config, windows bool) (*Device, *MemoryCalls, error) {
	l, err := lib.Open()
	if err != nil {
		return nil, nil, err
	}
	c := &MemoryCalls{Lib: l}
	if !windows {
		d, err := open(c, cfg, nil)
		return d, c, err
	}
	all, err := l.Devices()
	if err != nil {
		return nil, nil, err
	}
	ctx, err := choose(rdmadev.System(), l, all, cfg)
	if err != nil {
		return nil, nil, err
	}
	var h hardware
	h.identify(l, ctx, rdmadev.System())
	q := h.quirks
	q.WindowsUnbounded, q.UnreportedInvalidate = false, true
	d, err := open(c, cfg, &q)
	return d, c, err
}

// open is openOn this machine.
func open(l lib.Lib, cfg *Config, override *quirks.Quirks) (*Device, error) {
	return openOn(rdmadev.System(), l, cfg, override)
}
