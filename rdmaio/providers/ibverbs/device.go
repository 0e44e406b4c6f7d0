package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device implements verbs.Device.
type Device struct {
	hardware
	cfg  Config
	soft *soft.Device // queue pairs, completion queues and listeners

	waits

	channel lib.CompChannel
	cm      lib.EventChannel
	readers [3]*reader
	objects registry // for the readers
	reject  rejectData
	ends    ends

	regions        atomic.Int64
	allocatedBytes atomic.Int64
}

// waits are the longest waits when a connection is closed, and of withheld requests.
type waits struct {
	flush    time.Duration // for the completions of outstanding requests
	event    time.Duration // for the event that says why the peer is gone
	call     time.Duration // for the joinCall
	withhold time.Duration // of requests, for the initiator's first bytes
	close    time.Duration // of Device.Close, for joinCalls that their ends have not waited for
}

// ends are the goroutines that close connections.
type ends struct {
	sync.WaitGroup
	late lateEnds
}

var _ verbs.Device = (*Device)(nil)

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.attrs }

// CreateCQ implements verbs.Device. The queue is filled from the device's queues; each queue pair
// has one.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	return d.soft.CreateCQ(entries, notify)
}

// Resources implements verbs.Device.
func (d *Device) Resources() verbs.Resources {
	r := d.soft.Resources()
	r.MRs, r.AllocatedBytes = int(d.regions.Load()), uint64(d.allocatedBytes.Load())
	return r
}

// Close implements verbs.Device.
func (d *Device) Close() error {
	if d.objects.isClosed() {
		return nil
	}
	if r := d.Resources(); r != (verbs.Resources{}) {
		return fmt.Errorf("ibverbs: close device %s: %+v left, close these first: %w", d.attrs.Name, r, verbs.ErrBusy)
	}
	if err := d.ends.late.wait(d.waits.close); err != nil {
		return fmt.Errorf("ibverbs: close device %s: %w", d.attrs.Name, err)
	}
	if err := d.soft.Close(); err != nil {
		return err
	}
	return d.release()
}

// release stops the goroutines, and destroys the rest of the device.
func (d *Device) release() error {
	opened.remove(d)
	for _, r := range d.readers {
		r.close()
	}
	var errs []error
	for _, o := range d.objects.close() {
		if c, ok := o.(*connection); ok { // a request that was not answered
			errs = append(errs, c.close())
		}
	}
	d.ends.Wait()
	if d.cm != 0 {
		d.lib.DestroyEventChannel(d.cm)
	}
	if d.channel != 0 {
		errs = append(errs, d.lib.DestroyCompChannel(d.channel))
	}
	errs = append(errs, d.reject.close(), holds.give(&d.hardware))
	if err := errors.Join(errs...); err != nil && !d.gone() {
		return d.fail("close", err)
	}
	return nil
}

// usable returns an error if the device is removed or closed.
func (d *Device) usable() error {
	if d.gone() { // before package soft knows
		return fmt.Errorf("ibverbs: device %s: %w", d.attrs.Name, verbs.ErrDeviceRemoved)
	}
	return d.soft.Usable()
}

// remove closes all connections and listeners, because the device is gone.
func (d *Device) remove() {
	if !d.removed.Swap(true) {
		d.ends.Add(1)
		go func() {
			defer d.ends.Done()
			d.soft.Remove()
		}()
	}
}

// takeCompletionEvent takes an event of the completion channel.
func (d *Device) takeCompletionEvent() bool {
	cq, user, err := d.lib.CQEvent(d.channel)
	if err != nil {
		return again(err)
	}
	d.lib.AckCQEvents(cq, 1) // at once: the destruction of the queue waits for it
	if q := d.objects.queue(user); q != nil {
		q.completionEvent()
	}
	return true
}

// takeAsyncEvent takes an asynchronous event of the context, and hands it to all Devices on that
// context.
func (d *Device) takeAsyncEvent() bool {
	e, err := d.lib.AsyncEvent(d.ctx)
	if err != nil {
		return again(err)
	}
	d.lib.AckAsyncEvent(e)
	opened.each(d.ctx, func(o *Device) { o.asyncEvent(e) })
	return true
}

// asyncEvent handles an asynchronous event, unless it concerns another Device of the context. Types
// that are not listed do not concern a connection, or are unknown.
func (d *Device) asyncEvent(e abi.AsyncEvent) {
	var status verbs.Status
	switch e.Type {
	case abi.AsyncDeviceFatal:
		d.remove()
		return
	case abi.AsyncQPAccessErr:
		status = verbs.StatusRemoteAccess
	case abi.AsyncQPReqErr:
		status = verbs.StatusRemoteInvalidRequest
	case abi.AsyncQPFatal, abi.AsyncCQErr:
		status = verbs.StatusFatal
	default:
		return
	}
	if q := d.objects.queueOf(e); q != nil {
		q.mu.Lock()
		q.begin(fmt.Errorf("ibverbs: queue pair %d: the device reports an error of the connection (event %d): %w: %w",
			q.Num(), e.Type, verbs.StatusError{Status: status}, verbs.ErrConnectionBroken), causeEvent)
		q.mu.Unlock()
	}
}

// Listen implements verbs.Device. addr is "host:port".
func (d *Device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	l, err := d.listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("ibverbs: listen at %q: %w", addr, err)
	}
	return l, nil
}
