// Package trace wraps a verbs device and records every call and every completion as an
// Event, in the order in which they happen, for tests and for debugging a transport:
//
//	rec := trace.NewRecorder(1000)
//	t := trace.New(trace.Config{Sink: rec.Add})
//	dev := t.Device(inner) // use it in place of inner
//	...
//	rec.WriteTo(os.Stdout)
//
// A request is recorded before the provider gets it, so a post comes before all its effects.
// If the provider refuses it, it is recorded again with the reason. A completion is recorded
// when it is polled. Events have no payload, except for the first bytes of Sends if
// Config.Head is set. A Capture writes the messages to a pcapng file.
//
// The wrapper adds no goroutine. It allocates to translate objects, so do not measure with
// it.
package trace

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures a Tracer.
type Config struct {
	// Sink is called with each event, one at a time and in order. It is required. It must
	// not call verbs and must not wait, because the traced program waits for it.
	Sink func(Event)

	// Now returns the time of an event. If nil, events have no time, and the output is the
	// same each time.
	Now func() time.Time

	// Head is the number of bytes at the start of each Send to record, when it is posted
	// and when it is received: for example a transport's header. If zero, no bytes are recorded.
	Head int

	// Capture records the messages for Wireshark, if not nil.
	Capture *Capture
}

// Tracer numbers the events of the devices that it wraps.
type Tracer struct {
	cfg Config
	cqs atomic.Uint32

	mu  sync.Mutex
	seq uint64
}

// New returns a tracer.
func New(cfg Config) *Tracer { return &Tracer{cfg: cfg} }

// Device wraps a device. Its objects are traced too, and no others can be used with it.
func (t *Tracer) Device(inner verbs.Device) verbs.Device {
	return &device{Device: inner, t: t, name: inner.Attributes().Name}
}

// emit numbers an event and calls the sink.
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
