//go:build linux

package fakelib

import (
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

type compChannel struct {
	interrupted interrupted
	dev         *Device
	mem         []byte
	signal      signal
	events      []*cq
	uses        int // completion queues
}

// armed says which completions make an event.
type armed uint8

const (
	armedNone armed = iota
	armedSolicited
	armedAny
)

type cq struct {
	dev     *Device
	mem     []byte
	ch      *compChannel
	user    uintptr
	entries int
	locked  int // bytes
	mapping mapping
	queue   []entry
	armed   armed
	greeted bool // an event without a completion was made
	unacked int
	uses    int // queue pairs, twice for both queues
}

// entry is a completion.
type entry struct {
	wc   abi.WC
	qp   *qp
	seq  uint64 // of the request in its queue
	recv bool
}

// CreateCompChannel implements lib.Lib.
func (h *libibverbs) CreateCompChannel(ctx lib.Context) (lib.CompChannel, error) {
	const fn = "ibv_create_comp_channel"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	d, err := h.device(fn, ctx)
	if err != nil {
		return 0, err
	}
	c := &compChannel{dev: d}
	if c.signal, err = newSignal(); err != nil {
		return 0, fail(fn, syscall.EMFILE)
	}
	c.mem = h.net.add(c)
	abi.PutCompChannel(c.mem, c.signal.fd)
	return lib.CompChannel(abi.Addr(c.mem)), nil
}

// DestroyCompChannel implements lib.Lib.
func (h *libibverbs) DestroyCompChannel(handle lib.CompChannel) error {
	const fn = "ibv_destroy_comp_channel"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	c, err := find[*compChannel](h.net, fn, uintptr(handle))
	if err != nil {
		return err
	}
	if c.uses > 0 {
		return fail(fn, syscall.EBUSY)
	}
	c.signal.close()
	h.net.remove(c.mem)
	return nil
}

// CreateCQ implements lib.Lib.
func (h *libibverbs) CreateCQ(ctx lib.Context, entries int, user uintptr, ch lib.CompChannel, vector int) (lib.CQ, error) {
	const fn = "ibv_create_cq"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	d, err := h.device(fn, ctx)
	if err != nil {
		return 0, err
	}
	if entries < 1 || entries > d.attr.MaxCQE || vector < 0 || vector >= abi.Context(uintptr(ctx)).Vectors {
		return 0, fail(fn, syscall.EINVAL)
	}
	c := &cq{dev: d, user: user, entries: entries, locked: d.pinned(cqBytes(entries))}
	if ch != 0 {
		if c.ch, err = find[*compChannel](h.net, fn, uintptr(ch)); err != nil {
			return 0, err
		}
	}
	if err := h.lock(fn, c.locked); err != nil {
		return 0, err
	}
	if c.mapping, err = d.mapQueue(fn, entries, cqeSize, cqTail); err != nil {
		h.locked -= c.locked
		return 0, err
	}
	if c.ch != nil {
		c.ch.uses++
	}
	c.mem = h.net.add(c)
	c.entries = d.larger(entries)
	abi.PutCQ(c.mem, c.entries)
	return lib.CQ(abi.Addr(c.mem)), nil
}

// DestroyCQ implements lib.Lib.
func (h *libibverbs) DestroyCQ(handle lib.CQ) error {
	const fn = "ibv_destroy_cq"
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if err := h.refuse(fn); err != nil {
		return err
	}
	c, err := find[*cq](h.net, fn, uintptr(handle))
	if err != nil {
		return err
	}
	if c.uses > 0 {
		return fail(fn, syscall.EBUSY)
	}
	if c.ch != nil {
		c.ch.drop(c)
	}
	h.net.waitAcks(fn, "events of the completion queue are not acknowledged", func() bool { return c.unacked == 0 })
	if c.ch != nil {
		c.ch.uses--
	}
	h.locked -= c.locked
	c.dev.mapped.give(c.mapping)
	h.net.remove(c.mem)
	return nil
}

// drop removes the events of c that were not taken.
func (ch *compChannel) drop(c *cq) {
	var kept []*cq
	for _, e := range ch.events {
		if e != c {
			kept = append(kept, e)
		}
	}
	ch.events = kept
}

// ReqNotify implements lib.Lib.
func (h *libibverbs) ReqNotify(handle lib.CQ, solicitedOnly bool) error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	c, err := find[*cq](h.net, "ibv_req_notify_cq", uintptr(handle))
	if err != nil {
		return err
	}
	want := armedAny
	if solicitedOnly {
		want = armedSolicited
	}
	c.armed = max(c.armed, want)
	if c.dev.manners.EmptyEvents && !c.greeted && c.ch != nil {
		c.greeted = true
		c.event()
	}
	return nil
}

// Poll implements lib.Lib.
func (h *libibverbs) Poll(handle lib.CQ, wcs []byte) (int, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	c, err := find[*cq](h.net, "ibv_poll_cq", uintptr(handle))
	if err != nil {
		return 0, err
	}
	n := min(len(wcs)/abi.WCSize, len(c.queue))
	if c.dev.manners.PollsOne {
		n = min(n, 1)
	}
	for i, e := range c.queue[:n] {
		e.wc.Put(wcs[i*abi.WCSize:])
		e.qp.polled(e)
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
	return n, nil
}

// push adds a completion.
func (c *cq) push(e entry, solicited bool) {
	if len(c.queue) >= c.entries {
		c.dev.net.misuse("completion queue %#x overflows: it has %d entries", abi.Addr(c.mem), c.entries)
		return
	}
	c.dev.manners.blur(&e.wc, e.recv)
	c.queue = append(c.queue, e)
	if c.dev.manners.FlushesTwice && e.wc.Status == abi.StatusFlushed && len(c.queue) < c.entries-c.pending(e.qp) {
		c.queue = append(c.queue, e)
	}
	failed := e.wc.Status != abi.StatusSuccess && !c.dev.quirks.NoErrorEvent
	solicited = solicited && !c.dev.quirks.NoSolicitedEvent
	if c.ch == nil || c.armed == armedNone || c.armed == armedSolicited && !failed && !solicited {
		return
	}
	c.armed = armedNone
	c.event()
	if c.dev.manners.EmptyEvents {
		c.event()
	}
}

// event adds an event of the queue to its channel.
func (c *cq) event() {
	c.ch.events = append(c.ch.events, c)
	c.ch.signal.add()
}

// pending returns how many more completions a queue pair can make, at most.
func (c *cq) pending(q *qp) int {
	return len(q.sq) + len(q.rq) + q.attr.MaxSendWR - q.sent.used() + q.attr.MaxRecvWR - q.received.used()
}

// CQEvent implements lib.Lib.
func (h *libibverbs) CQEvent(handle lib.CompChannel) (lib.CQ, uintptr, error) {
	h.net.mu.Lock()
	ch, err := find[*compChannel](h.net, "ibv_get_cq_event", uintptr(handle))
	if err != nil {
		h.net.mu.Unlock()
		return 0, 0, syscall.EINVAL
	}
	if err := ch.interrupted.next(ch.dev.manners.Interrupted); err != nil {
		h.net.mu.Unlock()
		return 0, 0, err
	}
	for {
		h.net.mu.Unlock()
		if err := ch.signal.take(); err != nil {
			return 0, 0, err
		}
		h.net.mu.Lock()
		if len(ch.events) > 0 {
			break
		}
	}
	defer h.net.mu.Unlock()
	c := ch.events[0]
	ch.events = ch.events[1:]
	c.unacked++
	return lib.CQ(abi.Addr(c.mem)), c.user, nil
}

// AckCQEvents implements lib.Lib.
func (h *libibverbs) AckCQEvents(handle lib.CQ, n int) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	c, err := find[*cq](h.net, "ibv_ack_cq_events", uintptr(handle))
	if err != nil {
		return
	}
	if n > c.unacked {
		h.net.misuse("ibv_ack_cq_events acknowledges %d events of %d", n, c.unacked)
		n = c.unacked
	}
	c.unacked -= n
	h.net.changed.Broadcast()
}
