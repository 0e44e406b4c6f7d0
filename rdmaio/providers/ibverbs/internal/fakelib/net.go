//go:build linux

package fakelib

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// Options are the options of a Net.
type Options struct {
	// Misuse is called with each misuse of the library. It may be called on any goroutine, with
	// locks of the Net held. If nil, a misuse panics.
	Misuse func(string)

	// RetryTime is the time for which a queue pair and the connection manager try to reach a
	// silent peer. If zero, it is 100 ms.
	RetryTime time.Duration

	// RNRTime is the time between attempts of a Send to a peer without a posted Receive. If zero,
	// it is 1 ms.
	RNRTime time.Duration

	// CauseTime is the time between the end of a connection and its cause, with the quirk
	// CauseDelayed. If zero, it is 2 ms.
	CauseTime time.Duration

	// AckTime is the time for which the destruction of an object waits for the acknowledgement of
	// its events, before it counts as a misuse. If zero, it is 5 s.
	AckTime time.Duration
}

// Net is a network of Hosts.
type Net struct {
	opts Options

	mu      sync.Mutex
	changed *sync.Cond // for the destructions that wait
	arena   arena
	hosts   []*Host
	objects map[uintptr]any // handles of live objects

	lastQP   uint32
	lastPort uint16
	lastKey  uint32

	ready   []*qp // queue pairs that may have something to execute
	running bool
}

// NewNet returns a Net without Hosts.
func NewNet(opts Options) *Net {
	if opts.Misuse == nil {
		opts.Misuse = func(s string) { panic("fakelib: " + s) }
	}
	setDefault(&opts.RetryTime, 100*time.Millisecond)
	setDefault(&opts.RNRTime, time.Millisecond)
	setDefault(&opts.CauseTime, 2*time.Millisecond)
	setDefault(&opts.AckTime, 5*time.Second)
	n := &Net{opts: opts, objects: map[uintptr]any{}, lastQP: 16, lastPort: 40000, lastKey: 1}
	n.changed = sync.NewCond(&n.mu)
	return n
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

// HostOptions are the options of a Host.
type HostOptions struct {
	// MemLock is RLIMIT_MEMLOCK in bytes. If zero, there is no limit.
	MemLock int
}

// DeviceOptions describe a device.
type DeviceOptions struct {
	Name      string // such as "siw0"
	Transport abi.Transport
	Link      abi.LinkLayer // if zero, Ethernet

	// Addr is the address of the device's network interface. If it is the zero Addr, the first
	// device of the Net has 127.0.0.1, the next one 127.0.0.2, and so on.
	Addr netip.Addr

	// Attr replaces the limits of the device if it is not nil.
	Attr *abi.DeviceAttr

	// PageSize is the kernel's page size in bytes. If zero, it is this machine's.
	PageSize int

	Quirks  quirks.Quirks
	Manners Manners
}

// Host is a process with its devices. It implements lib.Lib.
type Host struct {
	process
	libibverbs
	librdmacm
}

// process has the devices of a Host, and the failures that a test has set. Both libraries use it.
type process struct {
	net      *Net
	devices  []*Device
	failures map[string]*failure
}

// libibverbs has the functions of devices and their objects. Memory that is registered is locked:
// locked never exceeds memLimit, unless that is 0.
type libibverbs struct {
	*process
	memLimit int
	locked   int // bytes
}

// librdmacm has the functions of the connection manager.
type librdmacm struct {
	*process
	param   abi.ConnParam  // of the last connect or accept
	options map[int][]byte // of SetOption

	holdEvents bool // events of the connection manager are held back
}

var _ lib.Lib = (*Host)(nil)

// Host adds a process with these devices to the Net.
func (n *Net) Host(opts HostOptions, devices ...DeviceOptions) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &Host{process: process{net: n, failures: map[string]*failure{}}}
	h.libibverbs = libibverbs{process: &h.process, memLimit: opts.MemLock}
	h.librdmacm = librdmacm{process: &h.process, options: map[int][]byte{}}
	n.hosts = append(n.hosts, h)
	for _, o := range devices {
		h.devices = append(h.devices, n.newDevice(h, o))
	}
	return h
}

// Settle waits until no queue pair has anything to execute or to flush.
func (n *Net) Settle() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle()
}

func (n *Net) settle() {
	for n.running {
		n.changed.Wait()
	}
}

// Close frees the memory of all objects. No Host of the Net may be used any more.
func (n *Net) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle()
	for _, h := range n.hosts {
		for _, d := range h.devices {
			d.async.close()
		}
	}
	for p, o := range n.objects {
		switch o := o.(type) {
		case *compChannel:
			o.signal.close()
		case *eventChannel:
			o.signal.close()
		case *qp:
			o.dead = true
			o.stopTimer()
		}
		delete(n.objects, p)
	}
	n.arena.close()
}

// Objects counts live objects.
type Objects struct {
	PDs, MRs, MWs, CompChannels, CQs, QPs, EventChannels, IDs int

	CMEvents    int // events of the connection manager that were not acknowledged
	LockedBytes int // of all Hosts
}

// Objects counts the live objects of all Hosts.
func (n *Net) Objects() Objects {
	n.mu.Lock()
	defer n.mu.Unlock()
	var c Objects
	for _, o := range n.objects {
		switch o.(type) {
		case *pd:
			c.PDs++
		case *mr:
			c.MRs++
		case *mw:
			c.MWs++
		case *compChannel:
			c.CompChannels++
		case *cq:
			c.CQs++
		case *qp:
			c.QPs++
		case *eventChannel:
			c.EventChannels++
		case *cmID:
			c.IDs++
		case *cmEvent:
			c.CMEvents++
		}
	}
	for _, h := range n.hosts {
		c.LockedBytes += h.locked
	}
	return c
}

func (n *Net) misuse(format string, args ...any) { n.opts.Misuse(fmt.Sprintf(format, args...)) }

// find returns the live object with handle p. A handle of something else is a misuse.
func find[T any](n *Net, fn string, p uintptr) (T, error) {
	o, ok := n.objects[p].(T)
	if !ok {
		n.misuse("%s: %#x is not a live %T: it was destroyed, or never created", fn, p, o)
		return o, fail(fn, syscall.EINVAL)
	}
	return o, nil
}

// add allocates the memory of an object, and gives it a handle.
func (n *Net) add(o any) []byte {
	b := n.arena.alloc()
	n.objects[abi.Addr(b)] = o
	return b
}

// remove removes an object. A program that still reads the object's memory finds it overwritten.
func (n *Net) remove(b []byte) {
	delete(n.objects, abi.Addr(b))
	n.arena.free(b)
	n.changed.Broadcast()
}

// waitAcks waits until done returns true. The caller holds the Net's lock; waitAcks releases it
// while it waits.
func (n *Net) waitAcks(fn, what string, done func() bool) {
	if done() {
		return
	}
	late := false
	t := time.AfterFunc(n.opts.AckTime, func() {
		n.mu.Lock()
		late = true
		n.mu.Unlock()
		n.changed.Broadcast()
	})
	defer t.Stop()
	for !done() {
		if late {
			n.misuse("%s hangs: %s", fn, what)
			return
		}
		n.changed.Wait()
	}
}

// fail returns an error of a library's function.
func fail(fn string, errno syscall.Errno) error { return os.NewSyscallError(fn, errno) }

// failure makes calls of a function fail.
type failure struct {
	errno syscall.Errno
	skip  int
	left  int
}

// Fail makes calls of a function fail with errno: the n calls after the next skip calls. If n is
// negative, all further calls fail. Functions have the names of libibverbs and librdmacm.
func (h *process) Fail(fn string, errno syscall.Errno, skip, n int) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.failures[fn] = &failure{errno, skip, n}
}

// refuse returns the error that Fail wants of a call of fn.
func (h *process) refuse(fn string) error {
	f := h.failures[fn]
	switch {
	case f == nil || f.left == 0:
		return nil
	case f.skip > 0:
		f.skip--
		return nil
	case f.left > 0:
		f.left--
	}
	return fail(fn, f.errno)
}
