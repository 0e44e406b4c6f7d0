package ibverbs

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/tcpstate"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// hardware is a device as its library and the kernel show it.
type hardware struct {
	lib lib.Lib
	ctx lib.Context
	kernel
	driver    string // rdma-core's name for it
	quirks    quirks.Quirks
	transport abi.Transport
	limits    abi.DeviceAttr
	attrs     verbs.DeviceAttributes

	windows      bool        // regions can be memory windows
	defaultBound int         // windows of a queue pair
	fewWindows   atomic.Bool // tellFewWindows has logged it

	removed atomic.Bool
}

// kernel is a part of the kernel that the libraries do not show.
type kernel struct {
	tree rdmadev.Tree

	// tcp returns the state of a TCP connection.
	tcp func(local, remote netip.AddrPort) (tcpstate.State, error)

	page      int  // bytes
	holdsPage bool // guarded by holds
}

// identify sets the fields that follow from the name of a device and its driver.
func (d *hardware) identify(l lib.Lib, ctx lib.Context, tree rdmadev.Tree) {
	f := abi.Device(abi.Context(uintptr(ctx)).Device)
	d.lib, d.ctx, d.kernel = l, ctx, kernel{tree: tree, tcp: tcpstate.Get, page: os.Getpagesize()}
	d.driver, d.transport = tree.Driver(f.Name), f.Transport
	d.quirks = quirks.For(d.driver, f.Transport)
	d.attrs.Name = f.Name
}

// gone reports whether the device was removed: calls of the library fail from then on.
func (d *hardware) gone() bool { return d.removed.Load() }

// query finds out the limits of the device.
func (d *hardware) query() (err error) {
	if d.limits, err = d.lib.QueryDevice(d.ctx); err != nil {
		return d.fail("query the device", err)
	}
	port, err := d.lib.QueryPort(d.ctx, 1)
	if err != nil {
		return d.fail("query port 1", err)
	}
	l := &d.limits
	// Each queue pair has one completion queue for both of its queues.
	requests := min(l.MaxQPWR, l.MaxCQE/2)
	d.windows = !d.quirks.NoWindows && !d.quirks.NoLocalInvalidate && !d.quirks.WindowsUnbounded && l.Caps&(abi.CapMemWindow|abi.CapMemWindow2A|abi.CapMemWindow2B) != 0 && l.MaxMW > 0
	if d.windows {
		if d.windows, err = d.tryWindow(); err != nil {
			return err
		}
	}
	if d.windows {
		d.defaultBound = max(1, min(defaultBound, requests/8))
	}
	longest := port.MaxMessage
	if longest == 0 {
		longest = 1 << 30
	}
	d.attrs = verbs.DeviceAttributes{
		Name:      d.attrs.Name,
		MaxSendWR: max(1, requests-2*d.defaultBound-3), MaxRecvWR: requests,
		MaxSendSGE: l.MaxSGE, MaxRecvSGE: l.MaxSGE, MaxReadSGE: max(1, l.MaxReadSGE),
		MaxCQE: math.MaxInt32, MaxMRSize: l.MaxMRSize &^ (align - 1), MaxMessageSize: min(longest, 1<<30),
		MaxInitiatorDepth: min(l.MaxInitiator, maxDepth), MaxResponderResources: min(l.MaxResponder, maxDepth),
		MaxPrivateData: privateData, InlineSize: inlineSize,
		RemoteInvalidate:      d.windows && !d.quirks.UnreportedInvalidate,
		InvalidateWindowsOnly: true,
		PaddedPrivateData:     d.quirks.PaddedPrivateData,
		GuessableKeys:         d.quirks.GuessableKeys || d.windows,
		Addresses:             verbs.AddressIP,
	}
	return nil
}

// tryWindow reports whether a memory window can be allocated. It tries, because some drivers only
// claim to have windows.
func (d *hardware) tryWindow() (bool, error) {
	pd, err := d.lib.AllocPD(d.ctx)
	if err != nil {
		return false, d.fail("allocate a protection domain", err)
	}
	mw, err := d.lib.AllocMW(pd)
	if err != nil {
		return false, d.lib.DeallocPD(pd)
	}
	return true, errors.Join(d.lib.DeallocMW(mw), d.lib.DeallocPD(pd))
}
