package fault

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// device wraps a verbs.Device. Methods that it does not override are those of the wrapped
// device.
type device struct {
	verbs.Device
	inj *Injector

	providing atomic.Int32 // functions of verbs.OnDemand that run
}

// maybeRemove injects RemoveDevice. It is called at the start of every call that a removed
// device affects. It does nothing while a function of verbs.OnDemand runs, because the
// provider then holds locks that Remove needs.
func (d *device) maybeRemove() {
	dev, ok := d.Device.(interface{ Remove() })
	if !ok || d.providing.Load() > 0 {
		return
	}
	if _, fires := d.inj.occasion(RemoveDevice); fires {
		dev.Remove()
	}
}

func (d *device) AllocPD() (verbs.ProtectionDomain, error) {
	d.maybeRemove()
	inner, err := d.Device.AllocPD()
	if err != nil {
		return nil, err
	}
	return &protectionDomain{ProtectionDomain: inner, dev: d}, nil
}

func (d *device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	d.maybeRemove()
	cq := &completionQueue{dev: d, notify: notify, qps: make(map[uint32]*queuePair), state: make(map[queue]*queueState)}
	inner, err := d.Device.CreateCQ(entries, cq.wake)
	if err != nil {
		return nil, err
	}
	cq.CompletionQueue = inner
	return cq, nil
}

func (d *device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	d.maybeRemove()
	inner, err := d.Device.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &listener{Listener: inner, dev: d}, nil
}

func (d *device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	d.maybeRemove()
	w, ok := qp.(*queuePair)
	if !ok {
		return d.Device.Dial(ctx, addr, qp, params)
	}
	if w.State() == verbs.StateInit {
		if f, fires := d.inj.occasion(FailDial); fires {
			return nil, w.fail(f)
		}
	}
	return d.Device.Dial(ctx, addr, w.QueuePair, params)
}

// listener wraps a verbs.Listener.
type listener struct {
	verbs.Listener
	dev *device
}

func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	inner, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &connRequest{ConnRequest: inner, dev: l.dev}, nil
}

// connRequest wraps a verbs.ConnRequest.
type connRequest struct {
	verbs.ConnRequest
	dev *device
}

func (r *connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	r.dev.maybeRemove()
	w, ok := qp.(*queuePair)
	if !ok {
		return r.ConnRequest.Accept(ctx, qp, params)
	}
	if w.State() == verbs.StateInit {
		if f, fires := r.dev.inj.occasion(FailAccept); fires {
			if err := r.Reject(nil); err != nil {
				return nil, err // the request has been answered: misuse, not a fault
			}
			return nil, w.fail(f)
		}
	}
	return r.ConnRequest.Accept(ctx, w.QueuePair, params)
}

// protectionDomain wraps a verbs.ProtectionDomain.
type protectionDomain struct {
	verbs.ProtectionDomain
	dev *device
}

func (pd *protectionDomain) Alloc(size int) ([]byte, error) {
	pd.dev.maybeRemove()
	if f, fires := pd.dev.inj.occasion(RefuseAlloc); fires {
		return nil, f.error()
	}
	return pd.ProtectionDomain.Alloc(size)
}

func (pd *protectionDomain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	pd.dev.maybeRemove()
	if f, fires := pd.dev.inj.occasion(RefuseRegister); fires {
		return nil, f.error()
	}
	inner, err := pd.ProtectionDomain.RegisterMemory(buf, access)
	if err != nil {
		return nil, err
	}
	return &memoryRegion{MemoryRegion: inner, dev: pd.dev}, nil
}

func (pd *protectionDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	pd.dev.maybeRemove()
	qp := &queuePair{dev: pd.dev, notify: cfg.Notify, room: cfg.MaxSendWR}
	if qp.room == 0 {
		qp.room = defaultSendWR
	}
	for side, cq := range [...]*verbs.CompletionQueue{sendSide: &cfg.SendCQ, recvSide: &cfg.RecvCQ} {
		if *cq == nil {
			continue // the provider refuses it
		}
		w, ok := (*cq).(*completionQueue)
		if !ok {
			return nil, fmt.Errorf("fault: completion queue of type %T was not created by this device: %w", *cq, verbs.ErrForeignObject)
		}
		qp.cqs[side], *cq = w, w.CompletionQueue
	}
	cfg.Notify = qp.ended
	inner, err := pd.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	qp.QueuePair = inner
	for _, cq := range qp.cqs {
		cq.add(qp)
	}
	return qp, nil
}

// memoryRegion wraps a verbs.MemoryRegion.
type memoryRegion struct {
	verbs.MemoryRegion
	dev *device
}

func (mr *memoryRegion) Invalidate() error {
	mr.dev.maybeRemove()
	if mr.State() == verbs.MRValid {
		if f, fires := mr.dev.inj.occasion(FailInvalidate); fires {
			return f.error()
		}
	}
	return mr.MemoryRegion.Invalidate()
}

func (mr *memoryRegion) Reregister(buf []byte, access verbs.Access) error {
	mr.dev.maybeRemove()
	if mr.State() == verbs.MRInvalid {
		if f, fires := mr.dev.inj.occasion(RefuseRegister); fires {
			return f.error()
		}
	}
	return mr.MemoryRegion.Reregister(buf, access)
}

// ReregisterOnDemand implements verbs.OnDemand.
func (mr *memoryRegion) ReregisterOnDemand(size int, access verbs.Access, memory func() ([]byte, error)) error {
	mr.dev.maybeRemove()
	r, ok := mr.MemoryRegion.(verbs.OnDemand)
	if !ok {
		return fmt.Errorf("fault: register on demand: %w", verbs.ErrNotSupported)
	}
	if mr.State() == verbs.MRInvalid {
		if f, fires := mr.dev.inj.occasion(RefuseRegister); fires {
			return f.error()
		}
	}
	if memory == nil {
		return r.ReregisterOnDemand(size, access, nil) // an error
	}
	return r.ReregisterOnDemand(size, access, func() ([]byte, error) {
		mr.dev.providing.Add(1)
		defer mr.dev.providing.Add(-1)
		return memory()
	})
}

// Redirect implements verbs.Redirector.
func (mr *memoryRegion) Redirect(buf []byte) error {
	mr.dev.maybeRemove()
	r, ok := mr.MemoryRegion.(verbs.Redirector)
	if !ok {
		return fmt.Errorf("fault: redirect: %w", verbs.ErrNotSupported)
	}
	return r.Redirect(buf)
}

func (mr *memoryRegion) Deregister() error {
	mr.dev.maybeRemove()
	return mr.MemoryRegion.Deregister()
}
