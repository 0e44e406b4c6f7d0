//go:build linux

package fakelib

import (
	"net/netip"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// Reasons of InfiniBand's REJ message.
const (
	noListener     = 8
	rejectedByUser = 28
)

// Sizes over iWARP in bytes: of a connection request without private data, and of the shortest
// message.
const (
	requestSize = 24
	messageSize = 20
)

// Limits of private data over InfiniBand, and what an InfiniBand device pads it to.
const (
	maxRequestData = 56
	maxReplyData   = 196
	maxRejectData  = 148
)

// Listen implements lib.Lib.
func (h *librdmacm) Listen(handle lib.ID, backlog int) error {
	const fn = "rdma_listen"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	if id.state != idIdle || !id.src.IsValid() {
		return fail(fn, syscall.EINVAL)
	}
	id.state, id.backlog = idListening, backlog
	return nil
}

// listener returns the listener at an address, which is the device's.
func (d *Device) listener(at netip.AddrPort) *cmID {
	for _, o := range d.net.objects {
		id, ok := o.(*cmID)
		if ok && id.host == &d.host.librdmacm && id.state == idListening && id.src.Port() == at.Port() &&
			(id.dev == d || id.dev == nil && id.src.Addr().Is4() == at.Addr().Is4()) {
			return id
		}
	}
	return nil
}

// take reads the parameters of connect or accept, and the queue pair of the ID.
func (id *cmID) take(fn string, p *abi.ConnParam, limit int) error {
	if id.dev.transport == abi.TransportIWARP {
		limit = 255
	}
	id.param, id.host.param = *p, *p
	if int(p.DataLen) > limit || p.RNRRetry > 7 || p.Retry > 7 {
		return fail(fn, syscall.EINVAL)
	}
	id.data = nil
	if p.DataLen > 0 {
		id.data = append(id.data, abi.At(p.Data, int(p.DataLen))...)
	}
	handle := abi.GetCMID(id.handle()).QP
	if handle == 0 {
		return fail(fn, syscall.EINVAL)
	}
	q, err := find[*qp](id.host.net, fn, handle)
	if err != nil {
		return err
	}
	if q.dev != id.dev || q.state == abi.QPErr || q.dev.transport == abi.TransportIB && q.state != abi.QPInit || q.id != nil {
		return fail(fn, syscall.EINVAL)
	}
	id.qp, q.id = q, id
	return nil
}

// Connect implements lib.Lib.
func (h *librdmacm) Connect(handle lib.ID, p *abi.ConnParam) error {
	const fn = "rdma_connect"
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	if id.state != idRouted {
		return fail(fn, syscall.EINVAL)
	}
	if err := id.take(fn, p, maxRequestData); err != nil {
		return err
	}
	id.state = idConnecting
	d := n.owner(id.dst.Addr())
	if d == nil || !d.up() || !id.dev.up() {
		id.timeout()
		return nil
	}
	l := d.listener(id.dst)
	if l == nil {
		id.refused()
		return nil
	}
	if l.waiting >= l.backlog {
		id.rejected(nil, false)
		return nil
	}
	l.waiting++
	r := d.host.newID(l.ch, abi.GetCMID(l.handle()).Context)
	r.state, r.dev, r.listener, r.peer = idRequested, d, l, id
	r.src, r.dst = id.dst, id.src
	r.arrived = requestSize + uint64(len(id.data))
	r.show()
	id.peer = r
	ev := abi.CMEvent{ID: r.handle(), ListenID: l.handle(), Type: abi.CMConnectRequest}
	ev.Responder, ev.Initiator = p.Initiator, p.Responder
	l.ch.add(l, ev, d.pad(id.data, maxRequestData))
	return nil
}

// pad returns private data as the device delivers it.
func (d *Device) pad(data []byte, size int) []byte {
	if !d.quirks.PaddedPrivateData {
		return data
	}
	return append(data[:len(data):len(data)], make([]byte, size-len(data))...)
}

// timeout reports after a time that the peer does not answer.
func (id *cmID) timeout() {
	n := id.host.net
	time.AfterFunc(n.opts.RetryTime, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if id.state == idConnecting {
			id.state = idEnded
			defer n.changed.Broadcast()
			id.add(abi.CMEvent{Type: abi.CMUnreachable, Status: -int32(syscall.ETIMEDOUT)}, nil)
		}
	})
}

// awaitReply waits until the connection request is answered, as the kernel does over iWARP before
// it disconnects or destroys an ID. It gives up after a time.
func (id *cmID) awaitReply() {
	if id.state != idConnecting || id.dev.transport != abi.TransportIWARP {
		return
	}
	id.timeout()
	for id.state == idConnecting {
		id.host.net.changed.Wait()
	}
}

// refused reports that the peer has no listener.
func (id *cmID) refused() {
	status := int32(noListener)
	if id.dev.quirks.StatusRejects {
		status = -int32(syscall.ECONNREFUSED)
	}
	id.state = idEnded
	var data []byte
	if !id.dev.quirks.StatusRejects {
		data = id.dev.pad(nil, maxRejectData)
	}
	id.add(abi.CMEvent{Type: abi.CMRejected, Status: status}, data)
}

// rejected reports that the listener has rejected the connection.
func (id *cmID) rejected(data []byte, answered bool) {
	if id == nil || id.state != idConnecting {
		return
	}
	status := int32(rejectedByUser)
	if id.dev.quirks.StatusRejects {
		status = -int32(syscall.ECONNRESET)
	}
	id.state, id.peer = idEnded, nil
	if answered || !id.dev.quirks.StatusRejects {
		data = id.dev.pad(data, maxRejectData)
	}
	id.add(abi.CMEvent{Type: abi.CMRejected, Status: status}, data)
}

// answered counts the request as answered at its listener.
func (id *cmID) answered() {
	if id.listener != nil {
		id.listener.waiting--
		id.listener = nil
	}
}

// Reject implements lib.Lib.
func (h *librdmacm) Reject(handle lib.ID, data []byte) error {
	const fn = "rdma_reject"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	limit := maxRejectData
	if id.dev != nil && id.dev.transport == abi.TransportIWARP {
		limit = 255
	}
	if id.state != idRequested || len(data) > limit {
		return fail(fn, syscall.EINVAL)
	}
	id.answered()
	id.state = idEnded
	id.peer.rejected(append([]byte(nil), data...), true)
	id.peer = nil
	return nil
}

// Accept implements lib.Lib. The client's queue pair is connected when the client takes the event.
func (h *librdmacm) Accept(handle lib.ID, p *abi.ConnParam) error {
	const fn = "rdma_accept"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	if id.state != idRequested {
		return fail(fn, syscall.EINVAL)
	}
	client := id.peer
	if client == nil || client.state != idConnecting {
		if id.dev.transport == abi.TransportIWARP {
			return fail(fn, syscall.ECONNRESET)
		}
		return fail(fn, syscall.EINVAL)
	}
	if err := id.take(fn, p, maxReplyData); err != nil {
		return err
	}
	id.answered()
	id.state = idAccepted
	id.connectQP(client)
	if id.dev.quirks.UnreadFirst && id.dev.transport == abi.TransportIWARP {
		id.qp.opening = deaf
	}
	ev := abi.CMEvent{Type: abi.CMEstablished, Responder: p.Initiator, Initiator: p.Responder}
	if client.dev.quirks.PeersDepths {
		ev.Responder, ev.Initiator = p.Responder, p.Initiator
	}
	if !id.dev.up() || !client.dev.up() {
		client.timeout()
		return nil
	}
	client.reply(ev, client.dev.pad(id.data, maxReplyData))
	return nil
}

// reply delivers the acceptance to the client.
func (id *cmID) reply(ev abi.CMEvent, data []byte) {
	if id.dev.transport == abi.TransportIWARP {
		id.establish(&ev)
		c := id.add(ev, data)
		if id.dev.quirks.BrittleReply && id.state == idConnected {
			id.brittle = c
			c.then = func() { id.brittle = nil }
		}
		return
	}
	// The client's librdmacm connects the queue pair when its caller takes the event.
	c := id.add(ev, data)
	c.then = func() { id.establish(&c.ev) }
}

// spoil fails a connection whose client finds more bytes after the reply.
func (id *cmID) spoil() {
	id.brittle.ev.Type, id.brittle.ev.Status = abi.CMConnectError, -int32(syscall.EPROTO)
	id.brittle.then = nil
	id.brittle = nil
	id.state = idEnded
	id.qp.enter(noEvent)
	id.peer.disconnected(0)
}

// establish connects the client's side. If it has no queue pair any more, ev becomes an error.
func (id *cmID) establish(ev *abi.CMEvent) {
	server := id.peer
	if id.state != idConnecting || server == nil || server.state != idAccepted || id.qp == nil || id.qp.state == abi.QPErr {
		ev.Type, ev.Status = abi.CMConnectError, -int32(syscall.EINVAL)
		if id.dev.transport == abi.TransportIWARP && id.state == idConnecting { // TCP is closed
			id.state = idEnded
			if server != nil {
				server.disconnected(0)
			}
		}
		return
	}
	id.connectQP(server)
	id.state, server.state = idConnected, idConnected
	server.stray()
	if server.dev.manners.LateEstablished {
		server.host.holdFor(establishedDelay)
	}
	server.add(abi.CMEvent{Type: abi.CMEstablished}, nil)
}

// connectQP moves the queue pair of an ID to QPRTS.
func (id *cmID) connectQP(peer *cmID) {
	q := id.qp
	q.peer = peer.qp
	q.state, q.heard = abi.QPRTS, time.Now()
	q.rnrRetry = int(id.param.RNRRetry)
	q.initiator = int(min(id.param.Initiator, peer.param.Responder))
	q.dev.manners.stray(q)
	q.kick()
	if q.peer != nil {
		q.peer.kick()
	}
}

// Disconnect implements lib.Lib.
func (h *librdmacm) Disconnect(handle lib.ID) error {
	const fn = "rdma_disconnect"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	id, err := h.find(fn, handle)
	if err != nil {
		return err
	}
	id.awaitReply()
	if id.state != idConnected && id.state != idAccepted && (id.state != idEnded || id.qp == nil) {
		return fail(fn, syscall.EINVAL)
	}
	id.disconnect()
	return nil
}

// disconnect closes a connection from this side.
func (id *cmID) disconnect() {
	if q := id.qp; q != nil && !q.dead {
		q.end(noEvent)
	}
	if id.state == idEnded {
		return
	}
	p := id.peer
	if p == nil || p.dev.silent || id.dev.silent {
		n := id.host.net
		id.state = idEnded
		time.AfterFunc(n.opts.RetryTime, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.objects[id.handle()] == any(id) {
				id.add(abi.CMEvent{Type: abi.CMDisconnected, Status: -int32(syscall.ETIMEDOUT)}, nil)
			}
		})
		return
	}
	id.disconnected(0)
	p.disconnected(0)
}

// disconnected reports to one side that the connection is closed. Over iWARP, that moves the queue
// pair to QPErr. It returns the event, or nil if that side has already had it.
func (id *cmID) disconnected(status int32) *cmEvent {
	if id.state != idConnected && id.state != idAccepted {
		return nil
	}
	id.state = idEnded
	if q := id.qp; q != nil && !q.dead && id.dev.transport == abi.TransportIWARP {
		q.enter(noEvent)
	}
	e := id.add(abi.CMEvent{Type: abi.CMDisconnected, Status: status}, nil)
	id.stray()
	if id.dev.transport == abi.TransportIB || id.dev.manners.StrayCMEvents {
		id.add(abi.CMEvent{Type: abi.CMTimewaitExit}, nil)
	}
	return e
}
