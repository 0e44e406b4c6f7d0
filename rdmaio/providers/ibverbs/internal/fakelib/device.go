//go:build linux

package fakelib

import (
	"net/netip"
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// Device is a device of a Host. Its methods change how it behaves.
type Device struct {
	net  *Net
	host *Host

	name      string
	transport abi.Transport
	addr      netip.Addr
	attr      abi.DeviceAttr
	port      abi.PortAttr
	quirks    quirks.Quirks
	manners   Manners
	pageSize  int
	context   []byte
	async     asyncFile
	mapped    mappings
	have      have

	silent    bool // neither sends nor receives anything
	stalled   bool // executes nothing
	holdReads bool // serves no Read
	removed   bool

	reads int // Read Responses that are being sent
}

// newDevice adds a device to a Host. The Net is locked.
func (n *Net) newDevice(h *Host, o DeviceOptions) *Device {
	count := byte(1)
	for _, other := range n.hosts {
		count += byte(len(other.devices))
	}
	d := &Device{net: n, host: h, name: o.Name, transport: o.Transport, addr: o.Addr, quirks: o.Quirks, manners: o.Manners, pageSize: o.PageSize}
	if !d.addr.IsValid() {
		d.addr = netip.AddrFrom4([4]byte{127, 0, 0, count})
	}
	d.attr = abi.DeviceAttr{
		Firmware: "fake", MaxMRSize: 1<<40 - 1, MaxQP: 4096, MaxQPWR: 4096, MaxSGE: 16, MaxReadSGE: 16, MaxCQ: 4096,
		MaxCQE: 1 << 16, MaxMR: 1 << 16, MaxPD: 4096, MaxResponder: 16, MaxInitiator: 16, MaxMW: 1 << 16, Ports: 1,
		Caps: abi.CapMemMgtExt | abi.CapMemWindow | abi.CapMemWindow2B,
	}
	if o.Attr != nil {
		d.attr = *o.Attr
	}
	if d.quirks.NoWindows {
		d.attr.Caps &^= abi.CapMemWindow | abi.CapMemWindow2A | abi.CapMemWindow2B
		d.attr.MaxMW = 0
	}
	d.port = abi.PortAttr{
		State: abi.PortActive, MaxMTU: 5, ActiveMTU: 5, GIDs: 2, MaxMessage: 1 << 30, PKeys: 1, Link: o.Link,
	}
	if o.Link == abi.LinkUnspecified {
		d.port.Link = abi.LinkEthernet
	}
	d.async.init(n)
	device := n.arena.alloc()
	abi.DeviceFields{Transport: o.Transport, Name: o.Name, DevName: "uverbs" + string('0'+rune(count%10))}.Put(device)
	d.context = n.add(d)
	abi.ContextFields{Device: abi.Addr(device), AsyncFD: d.async.signal.fd, Vectors: 1}.Put(d.context)
	return d
}

// have counts the objects that a device's limits bound.
type have struct{ pds, mrs, mws int }

// take counts an object for a call of fn. n is a field of a have.
func take(fn string, n *int, limit int) error {
	if *n >= limit {
		return fail(fn, syscall.ENOMEM)
	}
	*n++
	return nil
}

// Device returns the device with a name, or nil.
func (h *process) Device(name string) *Device {
	for _, d := range h.devices {
		if d.name == name {
			return d
		}
	}
	return nil
}

// Context returns the handle of the device.
func (d *Device) Context() lib.Context { return lib.Context(abi.Addr(d.context)) }

// Addr returns the address of the device.
func (d *Device) Addr() netip.Addr { return d.addr }

// Quirks returns the quirks of the device.
func (d *Device) Quirks() quirks.Quirks { return d.quirks }

// Devices implements lib.Lib.
func (h *libibverbs) Devices() ([]lib.Context, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse("rdma_get_devices"); err != nil {
		return nil, err
	}
	var all []lib.Context
	for _, d := range h.devices {
		all = append(all, d.Context())
	}
	return all, nil
}

// device returns the device of a context for a call of fn. The Net is locked.
func (h *libibverbs) device(fn string, ctx lib.Context) (*Device, error) {
	if err := h.refuse(fn); err != nil {
		return nil, err
	}
	d, err := find[*Device](h.net, fn, uintptr(ctx))
	if err == nil && d.removed {
		err = fail(fn, syscall.EIO)
	}
	return d, err
}

// QueryDevice implements lib.Lib.
func (h *libibverbs) QueryDevice(ctx lib.Context) (abi.DeviceAttr, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	d, err := h.device("ibv_query_device", ctx)
	if err != nil {
		return abi.DeviceAttr{}, err
	}
	return d.attr, nil
}

// QueryPort implements lib.Lib.
func (h *libibverbs) QueryPort(ctx lib.Context, port int) (abi.PortAttr, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	d, err := h.device("ibv_query_port", ctx)
	if err == nil && port != 1 {
		err = fail("ibv_query_port", syscall.EINVAL)
	}
	if err != nil {
		return abi.PortAttr{}, err
	}
	return d.port, nil
}

// QueryGID implements lib.Lib. A GID is the device's address, as with RoCE.
func (h *libibverbs) QueryGID(ctx lib.Context, port, index int) ([16]byte, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	d, err := h.device("ibv_query_gid", ctx)
	if err == nil && (port != 1 || index < 0 || index >= d.port.GIDs) {
		err = fail("ibv_query_gid", syscall.EINVAL)
	}
	if err != nil {
		return [16]byte{}, err
	}
	return d.addr.As16(), nil
}
