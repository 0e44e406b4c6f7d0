package verbs

import (
	"fmt"
	"time"
)

// Prober is a QueuePair that can ask at once whether the peer is still there. It is optional: a
// device whose peers acknowledge each request finds out by a Write of no bytes.
type Prober interface {
	// Probe asks the system of the peer for a sign of life, and does not wait for it. The queue
	// pair enters StateError if that system does not know the connection any more, or gives no sign
	// within limit or within the provider's own limit for a silent peer, if that is less. It
	// returns ErrNotSupported if this queue pair cannot probe.
	Probe(limit time.Duration) error
}

// Probe probes the peer of a queue pair. The error is ErrNotSupported if the queue pair does not
// implement Prober.
func Probe(qp QueuePair, limit time.Duration) error {
	if p, ok := qp.(Prober); ok {
		return p.Probe(limit)
	}
	return fmt.Errorf("verbs: queue pair %d cannot be probed: %w", qp.Num(), ErrNotSupported)
}
