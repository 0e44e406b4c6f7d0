// Package trace wraps a verbs device so that every call and every completion
// becomes an Event, in the order in which they happened, for tests and for
// people who want to see what a transport does:
//
//	rec := trace.NewRecorder(1000)
//	t := trace.New(trace.Config{Sink: rec.Add})
//	dev := t.Device(inner) // use it in place of inner
//	...
//	rec.WriteTo(os.Stdout)
//
// A request is recorded before the provider sees it and, if the provider
// refuses it, once more with the reason; so a post stands before everything it
// causes. A completion is recorded when it is polled. No event has payload in it, but
// for the first bytes of Sends if Config.Head asks for them; Capture writes a pcapng file of the messages.
//
// The wrapper keeps nothing of its own and adds no goroutine. Where it has to
// translate objects it allocates, so it is not for measuring.
package trace

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures a Tracer.
type Config struct {
	// Sink takes the events, one at a time and in order. It must not call verbs
	// nor wait: the traced program stands still meanwhile. Required.
	Sink func(Event)

	// Now gives events their time; nil leaves it zero, for output that is the
	// same each time.
	Now func() time.Time

	// Head is how many bytes of each Send the events keep of its posting, and of its arrival
	// at the other end: enough for a transport's header, say. Default none.
	Head int

	// Capture, if not nil, gets the messages too, for Wireshark.
	Capture *Capture
}

// Tracer numbers the events of the devices that it wraps.
type Tracer struct {
	cfg Config
	cqs atomic.Uint32

	mu  sync.Mutex
	seq uint64
}

// New makes a tracer.
func New(cfg Config) *Tracer { return &Tracer{cfg: cfg} }

// Device wraps a device. All objects made through it are traced too, and only
// they may be used with it.
func (t *Tracer) Device(inner verbs.Device) verbs.Device {
	return &device{Device: inner, t: t, name: inner.Attributes().Name}
}

// emit gives an event its place and passes it on.
func (t *Tracer) emit(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	e.Seq = t.seq
	if t.cfg.Now != nil {
		e.Time = t.cfg.Now()
	}
	t.cfg.Sink(e)
}
