//go:build linux

package fakelib

import (
	"net/netip"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// set changes the device, and lets all queue pairs continue.
func (d *Device) set(change func()) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	change()
	for _, o := range d.net.objects {
		if q, ok := o.(*qp); ok {
			q.kick()
		}
	}
}

// Silence makes the device send and receive nothing, as if its cable were pulled. Silence(false)
// undoes that. Peers notice after Options.RetryTime, if they have something to send.
func (d *Device) Silence(on bool) { d.set(func() { d.silent = on }) }

// Stall makes the device execute no further request of its send queues and flush none. Stall(false)
// undoes that.
func (d *Device) Stall(on bool) { d.set(func() { d.stalled = on }) }

// HoldReads makes the device hold back its Read Responses, or releases them.
func (d *Device) HoldReads(on bool) { d.set(func() { d.holdReads = on }) }

// HoldEvents holds back the events of the connection manager, as on a machine that is busy with
// messages, or releases them.
func (h *librdmacm) HoldEvents(on bool) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.hold(on)
}

// holdFor holds back the events of the connection manager for a while. The Net must be locked.
func (h *librdmacm) holdFor(d time.Duration) {
	h.hold(true)
	time.AfterFunc(d, func() {
		h.net.mu.Lock()
		defer h.net.mu.Unlock()
		h.hold(false)
	})
}

// hold is HoldEvents with the Net locked.
func (h *librdmacm) hold(on bool) {
	h.holdEvents = on
	for _, o := range h.net.objects {
		if c, ok := o.(*eventChannel); ok && c.host == h && !on {
			for ; c.held > 0; c.held-- {
				c.signal.add()
			}
		}
	}
}

// TCP returns the time since a connection of a device with the quirk KernelTCP has heard of its
// peer, and the bytes that the peer has sent.
func (h *librdmacm) TCP(local, remote netip.AddrPort) (heard time.Duration, received uint64, err error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	for _, o := range h.net.objects {
		id, ok := o.(*cmID)
		if !ok || id.host != h || id.src != local || id.dst != remote || !id.dev.quirks.KernelTCP {
			continue
		}
		if id.qp != nil {
			heard = time.Since(id.qp.heard)
		}
		return heard, id.arrived, nil
	}
	return 0, 0, syscall.ENOENT
}

// HasUnread reports whether a message lies unread at the host (Quirks.UnreadFirst).
func (h *Host) HasUnread() bool {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	for _, o := range h.net.objects {
		if q, ok := o.(*qp); ok && q.dev.host == h && q.opening == holding {
			return true
		}
	}
	return false
}

// Port sets the state of the device's port, and reports it as an asynchronous event.
func (d *Device) Port(active bool) {
	d.set(func() {
		state, event := abi.PortDown, abi.AsyncPortErr
		if active {
			state, event = abi.PortActive, abi.AsyncPortActive
		}
		d.port.State = state
		d.async.add(abi.AsyncEvent{Element: 1, Type: event})
	})
}

// Event adds an asynchronous event of the device that has no other effect.
func (d *Device) Event(e abi.AsyncEvent) { d.set(func() { d.async.add(e) }) }

// Param returns the parameters of the last connect or accept that the Host has called.
func (h *librdmacm) Param() abi.ConnParam {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return h.param
}

// Option returns the last value of an option that the Host has set with SetOption, or nil.
func (h *librdmacm) Option(name int) []byte {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return h.options[name]
}

// Fatal makes a queue pair of the device fail with an asynchronous event.
func (d *Device) Fatal(handle lib.QP) {
	d.set(func() {
		if q, ok := d.net.objects[uintptr(handle)].(*qp); ok {
			q.end(abi.AsyncQPFatal)
		}
	})
}

// Remove removes the device: its queue pairs fail, every rdma_cm_id on it has an event, and most
// calls fail. Existing objects can be destroyed. The peer notices when an rdma_cm_id is destroyed.
func (d *Device) Remove() {
	d.set(func() {
		d.async.add(abi.AsyncEvent{Type: abi.AsyncDeviceFatal})
		for _, o := range d.net.objects {
			switch o := o.(type) {
			case *qp:
				if o.dev == d {
					o.end(noEvent)
				}
			case *cmID:
				if o.dev == d {
					o.add(abi.CMEvent{Type: abi.CMDeviceRemoval}, nil)
				}
			}
		}
		d.removed = true
	})
}
