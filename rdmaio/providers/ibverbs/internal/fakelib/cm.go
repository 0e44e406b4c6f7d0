//go:build linux

package fakelib

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// idState is the state of an rdma_cm_id.
//
//	client: idle -> addressed -> routed -> connecting -> connected -> ended
//	server: idle -> listening;   requested -> accepted -> connected -> ended
type idState uint8

const (
	idIdle idState = iota
	idAddressed
	idRouted
	idConnecting
	idListening
	idRequested
	idAccepted
	idConnected
	idEnded
)

// A cmID is an rdma_cm_id.
type cmID struct {
	host     *librdmacm
	mem      []byte
	ch       *eventChannel
	state    idState
	dev      *Device // nil while it is bound to any address
	src, dst netip.AddrPort
	qp       *qp
	peer     *cmID
	listener *cmID // of a request
	backlog  int
	waiting  int // requests that were not answered, of a listener
	unacked  int
	arrived  uint64        // bytes of the peer on the TCP connection
	brittle  *cmEvent      // the reply that the client has not taken (Quirks.BrittleReply)
	param    abi.ConnParam // of connect or accept
	data     []byte        // private data of param
}

type eventChannel struct {
	interrupted interrupted
	host        *librdmacm
	mem         []byte
	signal      signal
	events      []*cmEvent
	held        int // the last events, while the host holds them back
	uses        int // IDs
}

type cmEvent struct {
	mem, data []byte
	id        *cmID // that counts it until it is acknowledged
	ev        abi.CMEvent
	then      func() // runs when the event is taken
}

func (id *cmID) handle() uintptr { return abi.Addr(id.mem) }

// CreateEventChannel implements lib.Lib.
func (h *librdmacm) CreateEventChannel() (lib.EventChannel, error) {
	const fn = "rdma_create_event_channel"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return 0, err
	}
	c := &eventChannel{host: h}
	var err error
	if c.signal, err = newSignal(); err != nil {
		return 0, fail(fn, syscall.EMFILE)
	}
	c.mem = h.net.add(c)
	abi.PutEventChannel(c.mem, c.signal.fd)
	return lib.EventChannel(abi.Addr(c.mem)), nil
}

// DestroyEventChannel implements lib.Lib.
func (h *librdmacm) DestroyEventChannel(handle lib.EventChannel) {
	const fn = "rdma_destroy_event_channel"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	c, err := find[*eventChannel](h.net, fn, uintptr(handle))
	if err != nil {
		return
	}
	if c.uses > 0 {
		h.net.misuse("%s: %d rdma_cm_id use the channel", fn, c.uses)
	}
	c.signal.close()
	h.net.remove(c.mem)
}

// CreateID implements lib.Lib.
func (h *librdmacm) CreateID(ch lib.EventChannel, user uintptr) (lib.ID, error) {
	const fn = "rdma_create_id"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return 0, err
	}
	c, err := find[*eventChannel](h.net, fn, uintptr(ch))
	if err != nil {
		return 0, err
	}
	return lib.ID(h.newID(c, user).handle()), nil
}

func (h *librdmacm) newID(c *eventChannel, user uintptr) *cmID {
	id := &cmID{host: h, ch: c}
	id.mem = h.net.add(id)
	f := abi.CMID{Context: user}
	f.Put(id.mem)
	c.uses++
	return id
}

// find returns the ID of a handle for a call of fn.
func (h *librdmacm) find(fn string, handle lib.ID) (*cmID, error) {
	if err := h.refuse(fn); err != nil {
		return nil, err
	}
	id, err := find[*cmID](h.net, fn, uintptr(handle))
	if err == nil && id.dev != nil && id.dev.removed {
		err = fail(fn, syscall.ENODEV)
	}
	return id, err
}

// show writes the addresses and the device to the rdma_cm_id.
func (id *cmID) show() {
	f := abi.GetCMID(id.handle())
	f.Src, f.Dst = sockaddr(id.src), sockaddr(id.dst)
	if id.dev != nil {
		f.Verbs, f.Port = abi.Addr(id.dev.context), 1
	}
	f.Put(id.mem)
}

// DestroyID implements lib.Lib.
func (h *librdmacm) DestroyID(handle lib.ID) error {
	const fn = "rdma_destroy_id"
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return err
	}
	id, err := find[*cmID](n, fn, uintptr(handle))
	if err != nil {
		return err
	}
	if abi.GetCMID(id.handle()).QP != 0 {
		n.misuse("%s: the rdma_cm_id has a queue pair still", fn)
	}
	id.awaitReply()
	id.leave()
	var kept []*cmEvent
	for _, e := range id.ch.events {
		if e.id != id {
			kept = append(kept, e)
		}
	}
	id.ch.events = kept
	n.waitAcks(fn, "events of the rdma_cm_id are not acknowledged", func() bool { return id.unacked == 0 })
	if id.qp != nil && id.qp.id == id {
		id.qp.id = nil
	}
	id.ch.uses--
	n.remove(id.mem)
	return nil
}

// leave ends what an ID that is destroyed had begun.
func (id *cmID) leave() {
	p := id.peer
	switch id.state {
	case idRequested:
		id.answered()
		p.rejected(nil, false)
	case idConnecting:
		if p != nil && p.state == idRequested && p.dev.transport == abi.TransportIB {
			p.add(abi.CMEvent{Type: abi.CMRejected, Status: rejectedByUser}, nil)
		}
		if p != nil && p.state == idAccepted {
			p.disconnected(0)
		}
	case idAccepted, idConnected:
		id.disconnect()
	case idListening:
		for _, o := range id.host.net.objects {
			if r, ok := o.(*cmID); ok && r.listener == id {
				r.listener = nil
			}
		}
		for _, e := range id.ch.events {
			// Requests that were not taken are rejected.
			if e.id == id && e.ev.Type == abi.CMConnectRequest {
				r := id.host.net.objects[e.ev.ID].(*cmID)
				r.leave()
				r.ch.uses--
				id.host.net.remove(r.mem)
			}
		}
	}
	id.state = idEnded
	id.peer = nil
}

// SetOption implements lib.Lib.
func (h *librdmacm) SetOption(handle lib.ID, level, name int, value []byte) error {
	const fn = "rdma_set_option"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if _, err := h.find(fn, handle); err != nil {
		return err
	}
	size := map[int]int{abi.OptionTOS: 1, abi.OptionReuseAddr: 4, abi.OptionAFOnly: 4, abi.OptionACKTimeout: 1}[name]
	if level != abi.OptionLevelID || size == 0 || len(value) != size {
		return fail(fn, syscall.EINVAL)
	}
	h.options[name] = append([]byte(nil), value...)
	return nil
}

// add adds an event of the ID. data is its private data.
func (id *cmID) add(ev abi.CMEvent, data []byte) *cmEvent {
	ev.ID = id.handle()
	return id.ch.add(id, ev, data)
}

// add adds an event that counts for an ID until it is acknowledged.
func (c *eventChannel) add(id *cmID, ev abi.CMEvent, data []byte) *cmEvent {
	ev.PrivateData = data
	e := &cmEvent{id: id, ev: ev}
	c.events = append(c.events, e)
	c.host.net.changed.Broadcast()
	if c.host.holdEvents {
		c.held++
	} else {
		c.signal.add()
	}
	return e
}

// GetCMEvent implements lib.Lib.
func (h *librdmacm) GetCMEvent(handle lib.EventChannel) (lib.CMEvent, error) {
	n := h.net
	n.mu.Lock()
	c, err := find[*eventChannel](n, "rdma_get_cm_event", uintptr(handle))
	if err != nil {
		n.mu.Unlock()
		return 0, syscall.EINVAL
	}
	if err := c.interrupted.next(h.manners().Interrupted); err != nil {
		n.mu.Unlock()
		return 0, err
	}
	for {
		n.mu.Unlock()
		if err := c.signal.take(); err != nil {
			return 0, err
		}
		n.mu.Lock()
		if len(c.events) > 0 {
			break
		}
	}
	defer n.mu.Unlock()
	e := c.events[0]
	c.events = c.events[1:]
	if e.then != nil {
		e.then()
	}
	e.id.unacked++
	e.mem = n.add(e)
	var data uintptr
	if len(e.ev.PrivateData) > 0 {
		e.data = n.arena.alloc()
		copy(e.data, e.ev.PrivateData)
		data = abi.Addr(e.data)
	}
	e.ev.Put(e.mem, data)
	return lib.CMEvent(abi.Addr(e.mem)), nil
}

// AckCMEvent implements lib.Lib.
func (h *librdmacm) AckCMEvent(handle lib.CMEvent) error {
	const fn = "rdma_ack_cm_event"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	e, err := find[*cmEvent](h.net, fn, uintptr(handle))
	if err != nil {
		return err
	}
	e.id.unacked--
	if e.data != nil {
		h.net.arena.free(e.data)
	}
	h.net.remove(e.mem)
	return nil
}

// BindAddr implements lib.Lib.
func (h *librdmacm) BindAddr(handle lib.ID, addr []byte) error {
	const fn = "rdma_bind_addr"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	a, ok := addrPort(addr)
	if !ok || id.state != idIdle || id.src.IsValid() {
		return fail(fn, syscall.EINVAL)
	}
	return id.bind(fn, a)
}

// bind gives the ID a local address, and a port if that is 0.
func (id *cmID) bind(fn string, a netip.AddrPort) error {
	n := id.host.net
	if !a.Addr().IsUnspecified() {
		if id.dev = id.host.owner(a.Addr()); id.dev == nil {
			return fail(fn, syscall.EADDRNOTAVAIL)
		}
	}
	if a.Port() == 0 {
		n.lastPort++
		a = netip.AddrPortFrom(a.Addr(), n.lastPort)
	}
	for _, o := range n.objects {
		if other, ok := o.(*cmID); ok && other.host == id.host && other.overlaps(a) {
			id.dev = nil
			return fail(fn, syscall.EADDRINUSE)
		}
	}
	id.src = a
	id.show()
	return nil
}

func (id *cmID) overlaps(a netip.AddrPort) bool {
	return id.state <= idListening && id.src.IsValid() && id.src.Port() == a.Port() &&
		(id.src.Addr() == a.Addr() || id.src.Addr().IsUnspecified() || a.Addr().IsUnspecified())
}

// owner returns the Host's device with an address.
func (h *process) owner(a netip.Addr) *Device {
	for _, d := range h.devices {
		if d.addr == a && !d.removed {
			return d
		}
	}
	return nil
}

// ResolveAddr implements lib.Lib. It takes the device with the source address, or with the
// destination if that is the Host's own, or the first one.
func (h *librdmacm) ResolveAddr(handle lib.ID, src, dst []byte, timeout time.Duration) error {
	const fn = "rdma_resolve_addr"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	to, ok := addrPort(dst)
	if !ok || id.state != idIdle {
		return fail(fn, syscall.EINVAL)
	}
	if from, ok := addrPort(src); ok && !id.src.IsValid() {
		if err := id.bind(fn, from); err != nil {
			return err
		}
	}
	id.dst = to
	if id.dev == nil {
		id.dev = h.owner(to.Addr())
	}
	for _, d := range h.devices {
		if id.dev == nil && !d.removed {
			id.dev = d
		}
	}
	if id.dev == nil || id.dev.port.State != abi.PortActive || h.net.owner(to.Addr()) == nil {
		id.dev = nil
		id.add(abi.CMEvent{Type: abi.CMAddrError, Status: -int32(syscall.ENODEV)}, nil)
		return nil
	}
	if !id.src.IsValid() || id.src.Addr().IsUnspecified() {
		port := id.src.Port()
		if port == 0 {
			h.net.lastPort++
			port = h.net.lastPort
		}
		id.src = netip.AddrPortFrom(id.dev.addr, port)
	}
	id.state = idAddressed
	id.show()
	id.stray()
	id.add(abi.CMEvent{Type: abi.CMAddrResolved}, nil)
	return nil
}

// stray adds events that change nothing.
func (id *cmID) stray() {
	if id.dev.manners.StrayCMEvents {
		id.add(abi.CMEvent{Type: abi.CMAddrChange}, nil)
		id.add(abi.CMEvent{Type: cmUnknown}, nil)
	}
}

// owner returns the device of any Host with an address.
func (n *Net) owner(a netip.Addr) *Device {
	for _, h := range n.hosts {
		if d := h.owner(a); d != nil {
			return d
		}
	}
	return nil
}

// ResolveRoute implements lib.Lib.
func (h *librdmacm) ResolveRoute(handle lib.ID, timeout time.Duration) error {
	const fn = "rdma_resolve_route"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	if id.state != idAddressed {
		return fail(fn, syscall.EINVAL)
	}
	id.state = idRouted
	id.add(abi.CMEvent{Type: abi.CMRouteResolved}, nil)
	return nil
}

// addrPort reads a sockaddr_in or sockaddr_in6.
func addrPort(b []byte) (netip.AddrPort, bool) {
	if len(b) < 2 {
		return netip.AddrPort{}, false
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == syscall.AF_INET && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:])), true
	case family == syscall.AF_INET6 && len(b) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:])), true
	}
	return netip.AddrPort{}, false
}

// sockaddr returns a sockaddr_storage.
func sockaddr(a netip.AddrPort) []byte {
	b := make([]byte, abi.SockaddrSize)
	switch {
	case a.Addr().Is4():
		binary.NativeEndian.PutUint16(b, syscall.AF_INET)
		copy(b[4:], a.Addr().AsSlice())
	case a.Addr().Is6():
		binary.NativeEndian.PutUint16(b, syscall.AF_INET6)
		copy(b[8:], a.Addr().AsSlice())
	}
	binary.BigEndian.PutUint16(b[2:], a.Port())
	return b
}
