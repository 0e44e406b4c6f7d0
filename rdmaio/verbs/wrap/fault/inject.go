package fault

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Kind is what goes wrong.
type Kind uint8

// The kinds, each with its occasions and with the error or status it has if the
// Fault names none.
const (
	// RefuseSend: a request is refused by PostSend, those before it in the batch
	// are posted. Occasion: each request looked at. ErrQueueFull.
	RefuseSend Kind = iota

	// RefuseRecv: the same in PostRecv.
	RefuseRecv

	// RefuseRegister: RegisterMemory or Reregister fails and nothing has
	// changed. Occasion: each call. ErrTooLarge, as a device out of entries says.
	RefuseRegister

	// RefuseAlloc: ProtectionDomain.Alloc fails. ErrTooLarge.
	RefuseAlloc

	// FailDial: Dial fails without asking the peer; the queue pair is in
	// StateError, its Receives flushed. ErrConnectionRefused.
	FailDial

	// FailAccept: ConnRequest.Accept fails in the same way; the peer sees a
	// rejection without data. ErrPeerDisconnected.
	FailAccept

	// Disconnect: the connection ends right after a send request was posted;
	// what runs before the end is the provider's affair. The peer sees
	// ErrPeerDisconnected. Occasion: each request posted. ErrConnectionBroken.
	Disconnect

	// DelayCompletion: a completion, and what follows it in its queue, shows
	// up only after the next Arm, or after Config.DelayPolls polls: it
	// came between the last Poll and the wait. Occasion: each successful completion
	// polled while the queue is not armed.
	DelayCompletion

	// FailCompletion: a completion reports an error, and the connection ends:
	// the request may well have run. Occasion: each successful completion.
	// StatusRetryExceeded.
	FailCompletion

	// LoseCompletion: a completion does not come; when the connection has ended
	// it and what follows it in its queue come as flushed. Nothing here ends the
	// connection. Occasion: each successful completion.
	LoseCompletion

	// StallRead: a Read is not carried out, nor what is fenced behind it. Other
	// requests behind it run, but their completions come, as flushed like the
	// Read's own, when the connection has ended. It takes no entry of the
	// provider's queue and is not checked by it. Occasion: each Read posted.
	StallRead

	// LoseRecv: a Receive is taken and not given to the provider, nor is any behind it: a Send of the peer comes to find none. They come
	// as flushed when the connection has ended. Occasion: each Receive posted until then. They are not checked.
	LoseRecv

	// ShortRecv: a Receive has room for 8 bytes only. A message that is longer breaks the connection, at both
	// ends. Occasion: each Receive posted.
	ShortRecv

	// FailInvalidate: MemoryRegion.Invalidate fails and nothing has changed: the peer has its key. Occasion: each
	// call for a valid region. ErrBusy.
	FailInvalidate

	// RepeatNotify: a notification of a completion queue comes twice. Occasion: each.
	RepeatNotify

	// DelayNotify: a notification of a completion queue comes after Config.NotifyDelay, from another goroutine. Occasion: each.
	DelayNotify

	// LoseNotify: a notification of a completion queue does not come, which no provider may do. Arm asks for another one.
	// Occasion: each.
	LoseNotify

	// RemoveDevice: the device goes away, before the call. Occasion: each call that makes, posts, registers, ends, polls, arms,
	// dials or listens, on a device that has a method Remove, as the software providers' have.
	RemoveDevice

	kinds
)

// String names the kind.
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

// Kinds lists all kinds.
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
	At   uint64 // the occasion, from 1

	// Err replaces the kind's error (RefuseSend to Disconnect, FailInvalidate); it is wrapped.
	Err error

	// Status replaces the status of FailCompletion; StatusSuccess is the default.
	Status verbs.Status
}

// Config configures an Injector.
type Config struct {
	Script []Fault // at most one for each kind and occasion; the first counts

	// Seed picks further occasions; Rate tells for each kind how many of its
	// occasions, 0 to 1.
	Seed uint64
	Rate map[Kind]float64

	// DelayPolls is how many polls of its queue a delayed completion outlasts when
	// nobody arms; default 3.
	DelayPolls int

	// NotifyDelay is how late a delayed notification is; default 1 ms.
	NotifyDelay time.Duration
}

// Count tells what became of a kind.
type Count struct {
	Seen  uint64 // occasions
	Fired uint64 // faults injected
}

// Injector decides when something goes wrong, for all devices it wraps.
type Injector struct {
	cfg Config

	mu     sync.Mutex
	counts [kinds]Count
}

// New makes an injector. Config is copied where it matters; its Script and Rate
// must not change.
func New(cfg Config) *Injector {
	if cfg.DelayPolls <= 0 {
		cfg.DelayPolls = 3
	}
	if cfg.NotifyDelay <= 0 {
		cfg.NotifyDelay = time.Millisecond
	}
	return &Injector{cfg: cfg}
}

// Device wraps a device. Objects made through it can be used with it only.
func (i *Injector) Device(inner verbs.Device) verbs.Device {
	return &device{Device: inner, inj: i}
}

// Count tells how often a kind could and did go wrong; zero for an unknown one.
func (i *Injector) Count(k Kind) Count {
	if k >= kinds {
		return Count{}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts[k]
}

// occasion counts one and tells whether something goes wrong.
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

// draw is a number from 0 up to 1, the same for the same arguments (splitmix64's
// finaliser over a counter).
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

// error is the fault's error, wrapping what a provider would have said.
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
