package fault

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Kind is a kind of fault.
type Kind uint8

// The kinds. Each comment names the occasions, and the error or status if the Fault does not name
// one.
const (
	// RefuseSend makes PostSend refuse a request; those before it in the batch are posted.
	// Occasion: each request of a post, up to the first refused. Error: ErrQueueFull.
	RefuseSend Kind = iota

	// RefuseRecv does the same in PostRecv.
	RefuseRecv

	// RefuseRegister makes RegisterMemory or Reregister fail without effect. Occasion: each
	// call. Error: ErrTooLarge, as from a device without free entries.
	RefuseRegister

	// RefuseAlloc makes ProtectionDomain.Alloc fail. Occasion: each call. Error:
	// ErrTooLarge.
	RefuseAlloc

	// FailDial makes Dial fail without contact to the peer: the queue pair is in StateError,
	// its Receives are flushed. Occasion: each call. Error: ErrConnectionRefused.
	FailDial

	// FailAccept makes ConnRequest.Accept fail in the same way; the peer gets a rejection
	// without data. Occasion: each call. Error: ErrPeerDisconnected.
	FailAccept

	// Disconnect closes the connection right after a request is posted. The provider decides how
	// much runs before that. The peer gets ErrPeerDisconnected. Occasion: each request posted.
	// Error: ErrConnectionBroken.
	Disconnect

	// DelayCompletion delays a completion, and later ones in its queue, until the next Arm or for
	// Config.DelayPolls polls, as if it had come between the last Poll and the wait. Occasion: each
	// successful completion polled while the queue is not armed.
	DelayCompletion

	// FailCompletion replaces a completion's status by an error and breaks the connection; the
	// request may have run. Occasion: each successful completion. Status: StatusRetryExceeded.
	FailCompletion

	// LoseCompletion withholds a completion and later ones in its queue. When the connection is
	// closed, they come as flushed. The fault does not close the connection. Occasion: each
	// successful completion.
	LoseCompletion

	// StallRead withholds a Read, and later requests with a fence, from the provider. Other later
	// requests run, but their completions are withheld too. When the connection is closed, all of
	// them come as flushed. The withheld requests are neither checked nor counted by the provider.
	// Occasion: each Read posted.
	StallRead

	// LoseRecv withholds a Receive and all later ones from the provider, so that the peer's Send
	// will find no Receive. When the connection is closed, they come as flushed. They are not
	// checked. Occasion: each Receive posted until then.
	LoseRecv

	// ShortRecv shortens a Receive to 8 bytes. A longer message breaks the connection at
	// both ends. Occasion: each Receive posted.
	ShortRecv

	// FailInvalidate makes MemoryRegion.Invalidate, or a revocation (verbs.Revoker), fail
	// without effect: the keys stay valid. Occasion: each call for a valid region, and each
	// valid region of a revocation. Error: ErrBusy.
	FailInvalidate

	// RepeatNotify makes a notification of a completion queue come twice. Occasion: each
	// notification.
	RepeatNotify

	// DelayNotify makes a notification of a completion queue come after Config.NotifyDelay,
	// on another goroutine. Occasion: each notification.
	DelayNotify

	// LoseNotify drops a notification of a completion queue, which no provider may do. Arm
	// requests another one. Occasion: each notification.
	LoseNotify

	// RemoveDevice removes the device before a call. Occasion: each call that creates,
	// posts, registers, invalidates, polls, arms, dials or listens, on a device that has a method
	// Remove, as the software providers' devices have.
	RemoveDevice

	kinds
)

// String returns the name of the kind.
func (k Kind) String() string {
	if k < kinds {
		return [...]string{
			"refuse-send", "refuse-recv", "refuse-register", "refuse-alloc", "fail-dial", "fail-accept", "disconnect",
			"delay-completion", "fail-completion", "lose-completion", "stall-read", "lose-recv", "short-recv",
			"fail-invalidate", "repeat-notify", "delay-notify", "lose-notify", "remove-device",
		}[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Fault is one entry of a script.
type Fault struct {
	Kind Kind
	At   uint64 // the number of the occasion, from 1

	// Err is the error of RefuseSend to Disconnect and of FailInvalidate, which wrap it. If
	// nil, the kind has a default.
	Err error

	// Status is the status of FailCompletion. If StatusSuccess, the default is
	// StatusRetryExceeded.
	Status verbs.Status
}

// Config configures an Injector.
type Config struct {
	// Script lists the faults to inject. If several have the same kind and occasion, the first is
	// used.
	Script []Fault

	// Seed picks further occasions. Rate is the fraction to pick among the occasions of a kind, 0
	// to 1.
	Seed uint64
	Rate map[Kind]float64

	// Manners are the manners of the devices.
	Manners Manners

	// RegisterDelay is the time that a registration takes longer with SlowRegister. If zero or
	// negative, the default is 1 ms.
	RegisterDelay time.Duration

	// MaxRegions is the largest number of regions that a device has at a time. If zero or negative,
	// only the device's limit applies.
	MaxRegions int

	// DelayPolls is the number of polls for which a completion is delayed, unless the queue is
	// armed before. If zero or negative, the default is 3.
	DelayPolls int

	// NotifyDelay is the delay of a notification, by DelayNotify or LateCause. If zero or negative,
	// the default is 1 ms.
	NotifyDelay time.Duration

	// Revoke makes queue pairs Revokers whose reports may come late, as on a device with memory
	// windows, if it is not nil. It is called at the start of each revocation on a connection, with
	// a function that completes it: it invalidates the regions, waits for that and reports it.
	// Closing the connection does so too. Each function may be called any number of times, on any
	// goroutine, or not at all.
	Revoke func(end func())
}

// Count counts the occasions and faults of a kind.
type Count struct {
	Seen  uint64 // occasions
	Fired uint64 // faults injected
}

// Injector decides when to inject faults, for all devices that it wraps.
type Injector struct {
	cfg Config

	keys keyTable

	mu      sync.Mutex
	counts  [kinds]Count
	effects map[Manners]uint64
}

// New returns an injector. The caller must not change cfg.Script and cfg.Rate afterwards.
func New(cfg Config) *Injector {
	if cfg.DelayPolls <= 0 {
		cfg.DelayPolls = 3
	}
	if cfg.NotifyDelay <= 0 {
		cfg.NotifyDelay = time.Millisecond
	}
	if cfg.RegisterDelay <= 0 {
		cfg.RegisterDelay = defaultRegisterDelay
	}
	return &Injector{cfg: cfg, effects: make(map[Manners]uint64)}
}

// Device wraps a device. Its objects can only be used with it.
func (i *Injector) Device(inner verbs.Device) verbs.Device {
	return &device{Device: inner, inj: i}
}

// Count returns the counts of a kind, or zeros for an unknown one.
func (i *Injector) Count(k Kind) Count {
	if k >= kinds {
		return Count{}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts[k]
}

// occasion counts an occasion. If a fault is to be injected, it returns it and true.
func (i *Injector) occasion(k Kind) (Fault, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := &i.counts[k]
	c.Seen++
	for _, f := range i.cfg.Script {
		if f.Kind == k && f.At == c.Seen {
			c.Fired++
			return f, true
		}
	}
	if rate := i.cfg.Rate[k]; rate > 0 && draw(i.cfg.Seed, k, c.Seen) < rate {
		c.Fired++
		return Fault{Kind: k, At: c.Seen}, true
	}
	return Fault{}, false
}

// draw returns a number from 0 up to 1, the same for the same arguments: the finalizer of
// splitmix64 over a counter.
func draw(seed uint64, k Kind, n uint64) float64 {
	x := seed
	for _, v := range [...]uint64{uint64(k) + 1, n} {
		x += v * 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}

// error returns the error of the fault, which wraps the one that a provider would return.
func (f Fault) error() error {
	err := f.Err
	if err == nil {
		err = [kinds]error{
			RefuseSend: verbs.ErrQueueFull, RefuseRecv: verbs.ErrQueueFull, RefuseRegister: verbs.ErrTooLarge,
			RefuseAlloc: verbs.ErrTooLarge, FailDial: verbs.ErrConnectionRefused, FailAccept: verbs.ErrPeerDisconnected,
			Disconnect: verbs.ErrConnectionBroken, FailInvalidate: verbs.ErrBusy,
			FailCompletion: errors.Join(verbs.ErrConnectionBroken, f.status().Err()),
		}[f.Kind]
	}
	return fmt.Errorf("fault: injected %v, occasion %d: %w", f.Kind, f.At, err)
}

func (f Fault) status() verbs.Status {
	if f.Status == verbs.StatusSuccess {
		return verbs.StatusRetryExceeded
	}
	return f.Status
}
