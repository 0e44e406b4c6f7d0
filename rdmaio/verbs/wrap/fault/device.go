package fault

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// device wraps a verbs.Device. Methods that it does not override are the wrapped device's.
type device struct {
	verbs.Device
	inj *Injector

	providing atomic.Int32 // functions of verbs.OnDemand that run
	regions   atomic.Int64 // that exist
}

// Attributes returns the wrapped device's attributes, changed by the manners.
func (d *device) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	if d.inj.has(PaddedPrivateData) {
		a.PaddedPrivateData, a.MaxPrivateData = true, min(a.MaxPrivateData, requestData)
	}
	a.GuessableKeys = a.GuessableKeys || d.inj.has(GuessableKeys)
	a.InvalidateWindowsOnly = a.InvalidateWindowsOnly || d.inj.has(WindowsOnly)
	if d.inj.has(Plain) {
		a.HeapMemory, a.LendReceives, a.ReaderNotifies, a.InlineSize = false, false, false, 0
	}
	return a
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
	return &protectionDomain{
		ProtectionDomain: inner, dev: d, allocs: make(map[uintptr]int), late: make(map[*memoryRegion]struct{}),
	}, nil
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
	if err := d.checkPrivate(params); err != nil {
		return nil, err
	}
	if w.State() == verbs.StateInit {
		if f, fires := d.inj.occasion(FailDial); fires {
			return nil, w.fail(f)
		}
	}
	info, err := d.Device.Dial(ctx, addr, w.QueuePair, params)
	if rejected := new(verbs.RejectedError); errors.As(err, &rejected) {
		rejected.PrivateData = d.padded(rejected.PrivateData, rejectionData)
	}
	return w.established(info, replyData, err)
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
	if err := r.dev.checkPrivate(params); err != nil {
		return nil, err
	}
	if w.State() == verbs.StateInit {
		if f, fires := r.dev.inj.occasion(FailAccept); fires {
			if err := r.Reject(nil); err != nil {
				return nil, err // the request has been answered: misuse, not a fault
			}
			return nil, w.fail(f)
		}
	}
	info, err := r.ConnRequest.Accept(ctx, w.QueuePair, params)
	return w.established(info, requestData, err)
}

// PrivateData returns the dialer's private data, as it arrives.
func (r *connRequest) PrivateData() []byte {
	return r.dev.padded(r.ConnRequest.PrivateData(), requestData)
}

func (r *connRequest) Reject(privateData []byte) error {
	if err := r.dev.checkPrivate(&verbs.ConnParams{PrivateData: privateData}); err != nil {
		return err
	}
	return r.ConnRequest.Reject(privateData)
}

func (pd *protectionDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	pd.dev.maybeRemove()
	qp := &queuePair{dev: pd.dev, pd: pd, notify: cfg.Notify, room: cfg.MaxSendWR}
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
