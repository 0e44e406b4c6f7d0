package verbs

import (
	"errors"
	"fmt"
)

// Revoker is a QueuePair that can invalidate several regions together, without waiting for the end.
// It is optional: a device with memory windows invalidates them by requests to the send queue.
// These wait for earlier requests, and one doorbell starts all of them.
//
// A wrapper returns ErrNotSupported if the wrapped queue pair is not a Revoker.
type Revoker interface {
	// Revoke starts to invalidate regions of the queue pair's domain, and returns at once. done is
	// called when this is complete. A nil error means the same for each region as a nil error from
	// MemoryRegion.Invalidate: the region is MRInvalid, and nothing accesses the memory through it.
	// With an error, some of the regions are not invalid: their memory must not be used before the
	// connection is closed.
	//
	// Regions that are invalid already, for example because the peer invalidated them, do not cause
	// an error. A region of another domain, device or provider is ErrForeignObject, and a
	// deregistered one is ErrClosed. If Revoke returns an error, it has no effect, and done is not
	// called. The slice belongs to the caller again when Revoke returns. A call without regions
	// shows whether there is a Revoker.
	//
	// done is called exactly once, in any state of the queue pair:
	//
	//   - A peer that sends no acknowledgments can delay the call, but at most for the transport's
	//     time of retries. Then the queue pair enters StateError, which invalidates all regions.
	//   - When the queue pair enters StateError, done is called soon, before or after
	//     QPConfig.Notify. In StateInit, StateError and StateClosed nothing waits for a peer.
	//   - When Close has returned, all calls of done have, too.
	//
	// The rules for notify of CompletionQueue.Arm apply to done: it runs on the goroutine that saw
	// the end, possibly inside Revoke, with no lock of the provider held, and must not wait. It may
	// poll, arm, post and register, and call Revoke.
	//
	// Until done is called, the regions are MRValid, the peer may access the memory, and the caller
	// must not post requests that name them. Reregister returns ErrBusy. Invalidate and Deregister
	// wait for the same end, so a goroutine that must not wait must not call them. Redirect has no
	// effect or returns an error.
	Revoke(regions []MemoryRegion, done func(error)) error
}

// Invalidate invalidates regions and waits until they are invalid: all together if qp is a Revoker,
// otherwise one after the other. It continues after an error, and returns all errors.
func Invalidate(qp QueuePair, regions ...MemoryRegion) error {
	if r, ok := qp.(Revoker); ok {
		ended := make(chan error, 1)
		err := r.Revoke(regions, func(err error) { ended <- err })
		switch {
		case err == nil:
			return <-ended
		case !errors.Is(err, ErrNotSupported):
			return err
		}
	}
	var errs []error
	for _, mr := range regions {
		if mr == nil {
			errs = append(errs, fmt.Errorf("verbs: invalidate: a region is nil: %w", ErrForeignObject))
			continue
		}
		errs = append(errs, mr.Invalidate())
	}
	return errors.Join(errs...)
}
