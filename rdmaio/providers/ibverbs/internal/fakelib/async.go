//go:build linux

package fakelib

import (
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// asyncFile is a device's file of asynchronous events.
type asyncFile struct {
	interrupted interrupted
	signal      signal
	events      []abi.AsyncEvent
}

func (a *asyncFile) init(n *Net) {
	var err error
	if a.signal, err = newSignal(); err != nil {
		n.misuse("no file for asynchronous events: %v", err)
	}
}

func (a *asyncFile) close() { a.signal.close() }

func (a *asyncFile) add(e abi.AsyncEvent) {
	a.events = append(a.events, e)
	a.signal.add()
}

// drop removes the events of a queue pair that were not taken.
func (a *asyncFile) drop(qp uintptr) {
	var kept []abi.AsyncEvent
	for _, e := range a.events {
		if e.Element != qp {
			kept = append(kept, e)
		}
	}
	a.events = kept
}

// AsyncEvent implements lib.Lib.
func (h *libibverbs) AsyncEvent(ctx lib.Context) (abi.AsyncEvent, error) {
	h.net.mu.Lock()
	d, err := find[*Device](h.net, "ibv_get_async_event", uintptr(ctx))
	if err != nil {
		h.net.mu.Unlock()
		return abi.AsyncEvent{}, syscall.EINVAL
	}
	if err := d.async.interrupted.next(d.manners.Interrupted); err != nil {
		h.net.mu.Unlock()
		return abi.AsyncEvent{}, err
	}
	for {
		h.net.mu.Unlock()
		if err := d.async.signal.take(); err != nil {
			return abi.AsyncEvent{}, err
		}
		h.net.mu.Lock()
		if len(d.async.events) > 0 {
			break
		}
	}
	defer h.net.mu.Unlock()
	e := d.async.events[0]
	d.async.events = d.async.events[1:]
	if q, ok := h.net.objects[e.Element].(*qp); ok && ofQueuePair(e.Type) {
		q.unacked++
	}
	return e, nil
}

// AckAsyncEvent implements lib.Lib.
func (h *libibverbs) AckAsyncEvent(e abi.AsyncEvent) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if ofQueuePair(e.Type) {
		q, err := find[*qp](h.net, "ibv_ack_async_event", e.Element)
		if err != nil {
			return
		}
		if q.unacked == 0 {
			h.net.misuse("ibv_ack_async_event acknowledges an event of a queue pair twice")
			return
		}
		q.unacked--
		h.net.changed.Broadcast()
	}
}
