//go:build linux

package fakelib

import (
	"os"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// Manners are ways to behave that libibverbs allows, or that a library has been seen to have. A
// provider must cope with them on every device, while it knows the quirks of each. They are off by
// default.
type Manners struct {
	// PollsOne: a poll returns one completion at most.
	PollsOne bool

	// SignalsAll: requests complete whether they are signaled or not.
	SignalsAll bool

	// FlushesTwice: a request that was flushed completes twice, if the completion queue has space.
	FlushesTwice bool

	// ReceivesFirst: the Receives are flushed before the send queue. SlowFlush: requests are
	// flushed some milliseconds after the queue pair has failed.
	ReceivesFirst bool
	SlowFlush     bool

	// RefusesFlush: a queue pair that has failed takes no requests.
	RefusesFlush bool

	// LostFields: only the identifier and the status of a failed completion are right. OddFlags:
	// the completion of a Receive has flags that say nothing of this connection.
	LostFields bool
	OddFlags   bool

	// DistinctKeys: the local key of a region is not its remote key.
	DistinctKeys bool

	// Larger: queues are larger than asked for.
	Larger bool

	// EmptyEvents: each event of a completion queue comes twice, and one when it is first armed.
	// Interrupted: a signal interrupts every other call that takes an event.
	EmptyEvents bool
	Interrupted bool

	// StrayEvents: asynchronous events come that say nothing of a connection, are unknown, or were
	// reported before.
	StrayEvents bool

	// StrayCMEvents: the connection manager reports events that change nothing.
	StrayCMEvents bool

	// LateEstablished: an acceptor learns that it is connected some milliseconds after it was.
	LateEstablished bool
}

const (
	flushDelay       = 3 * time.Millisecond
	establishedDelay = 3 * time.Millisecond
)

// interrupted makes every other call that takes an event fail.
type interrupted bool

func (i *interrupted) next(on bool) error {
	if *i = interrupted(on && !bool(*i)); *i {
		return syscall.EINTR
	}
	return nil
}

// manners returns the manners of the process's connection manager. Its first device has the same.
func (h *process) manners() Manners {
	if len(h.devices) == 0 {
		return Manners{}
	}
	return h.devices[0].manners
}

// larger returns the entries of a queue in place of n.
func (d *Device) larger(n int) int {
	if d.manners.Larger {
		return 2 * n
	}
	return n
}

// flushing is the way in which a queue pair flushes its requests after a failure.
type flushing struct {
	failed    bool // a request has failed, and the later ones are flushed
	unflushed int  // requests left without a completion
	waits     bool // for flushDelay
	over      bool // flushDelay is over
}

// begun reports whether the queue pair flushes its requests already.
func (f *flushing) begun(q *qp) bool {
	if !q.dev.manners.SlowFlush || f.over {
		return true
	}
	if !f.waits {
		f.waits = true
		time.AfterFunc(flushDelay, func() {
			q.dev.net.mu.Lock()
			defer q.dev.net.mu.Unlock()
			f.over = true
			q.kick()
		})
	}
	return false
}

// blur spoils the fields of a completion that the caller may not use.
func (m *Manners) blur(wc *abi.WC, recv bool) {
	switch {
	case wc.Status != abi.StatusSuccess:
		if m.LostFields {
			wc.Opcode, wc.QPNum, wc.ByteLen, wc.Flags = 0xfff, 0, 0xffffffff, abi.WithInv|abi.KernelWithInv
		}
	case recv && m.OddFlags:
		wc.Flags |= 1 << 0 // IBV_WC_GRH
	}
}

// Types of asynchronous events that say nothing of a connection's end.
const (
	asyncCommEst    abi.AsyncType = 4
	asyncSQDrained  abi.AsyncType = 5
	asyncPathMigErr abi.AsyncType = 7
	asyncLastWQE    abi.AsyncType = 16
	asyncUnknown    abi.AsyncType = 4711
)

// cmUnknown is an event of the connection manager that newer kernels have.
const cmUnknown abi.CMEventType = 17

// stray adds asynchronous events that say nothing.
func (m *Manners) stray(q *qp) {
	if !m.StrayEvents {
		return
	}
	for _, t := range []abi.AsyncType{asyncCommEst, asyncSQDrained, asyncPathMigErr} {
		q.dev.async.add(abi.AsyncEvent{Element: abi.Addr(q.mem), Type: t})
	}
	for _, t := range []abi.AsyncType{abi.AsyncGIDChange, abi.AsyncPortActive, asyncUnknown} {
		q.dev.async.add(abi.AsyncEvent{Element: 1, Type: t})
	}
}

// ofQueuePair reports whether the element of an asynchronous event is a queue pair.
func ofQueuePair(t abi.AsyncType) bool {
	return t >= abi.AsyncQPFatal && t <= asyncPathMigErr || t == asyncLastWQE
}

// page returns the page size of the device's machine.
func (d *Device) page() int {
	if d.pageSize > 0 {
		return d.pageSize
	}
	return os.Getpagesize()
}
