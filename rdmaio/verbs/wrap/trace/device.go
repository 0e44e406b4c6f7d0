package trace

import (
	"context"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// device wraps a verbs.Device. Methods that it does not override are the wrapped device's.
type device struct {
	verbs.Device
	t    *Tracer
	name string

	streams  sync.Map // *stream by QueuePair.Num; empty without Config.Capture
	receives sync.Map // *receives by QueuePair.Num; empty without Config.Head
}

// stream returns the stream of a queue pair, or nil without a capture.
func (d *device) stream(num uint32) *stream {
	s, ok := d.streams.Load(num)
	if !ok {
		return nil
	}
	return s.(*stream)
}

func (d *device) emit(e Event) {
	e.Device = d.name
	d.t.emit(e)
}

func (d *device) AllocPD() (verbs.ProtectionDomain, error) {
	inner, err := d.Device.AllocPD()
	d.emit(Event{Kind: AllocPD, Err: err})
	if err != nil {
		return nil, err
	}
	return &protectionDomain{ProtectionDomain: inner, dev: d}, nil
}

func (d *device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	cq := &completionQueue{dev: d, num: d.t.cqs.Add(1)}
	traced := notify
	if notify != nil {
		traced = func() {
			cq.dev.emit(Event{Kind: Notify, CQ: cq.num})
			notify()
		}
	}
	inner, err := d.Device.CreateCQ(entries, traced)
	d.emit(Event{Kind: CreateCQ, CQ: cq.num, Length: entries, Err: err})
	if err != nil {
		return nil, err
	}
	cq.CompletionQueue = inner
	return cq, nil
}

func (d *device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	inner, err := d.Device.Listen(ctx, addr)
	d.emit(Event{Kind: Listen, Addr: addr, Err: err})
	if err != nil {
		return nil, err
	}
	return &listener{Listener: inner, dev: d}, nil
}

func (d *device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	inner, num := unwrapQP(qp)
	d.emit(Event{Kind: Dial, QP: num, Addr: addr, Length: privateLen(params)})
	msgs := streamOf(qp)
	msgs.begin(true)
	info, err := d.Device.Dial(ctx, addr, inner, params)
	if err == nil {
		msgs.established(params, info.PrivateData)
	}
	d.emit(established(Dialed, num, addr, info, err))
	return info, err
}

func (d *device) Close() error {
	err := d.Device.Close()
	d.emit(Event{Kind: CloseDevice, Err: err})
	return err
}

// listener wraps a verbs.Listener.
type listener struct {
	verbs.Listener
	dev *device
}

func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	inner, err := l.Listener.Accept(ctx)
	if err != nil {
		l.dev.emit(Event{Kind: Request, Err: err})
		return nil, err
	}
	l.dev.emit(Event{Kind: Request, Addr: inner.RemoteAddr(), Length: len(inner.PrivateData())})
	return &connRequest{ConnRequest: inner, dev: l.dev}, nil
}

func (l *listener) Close() error {
	err := l.Listener.Close()
	l.dev.emit(Event{Kind: CloseListen, Addr: l.Addr(), Err: err})
	return err
}

// connRequest wraps a verbs.ConnRequest.
type connRequest struct {
	verbs.ConnRequest
	dev *device
}

func (r *connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	inner, num := unwrapQP(qp)
	r.dev.emit(Event{Kind: Accept, QP: num, Addr: r.RemoteAddr(), Length: privateLen(params)})
	msgs := streamOf(qp)
	msgs.begin(false)
	info, err := r.ConnRequest.Accept(ctx, inner, params)
	if err == nil {
		msgs.established(params, info.PrivateData)
	}
	r.dev.emit(established(Accepted, num, r.RemoteAddr(), info, err))
	return info, err
}

func (r *connRequest) Reject(private []byte) error {
	err := r.ConnRequest.Reject(private)
	r.dev.emit(Event{Kind: Reject, Addr: r.RemoteAddr(), Length: len(private), Err: err})
	return err
}

func privateLen(params *verbs.ConnParams) int {
	if params == nil {
		return 0
	}
	return len(params.PrivateData)
}

// established returns the event of a finished Dial or Accept.
func established(k Kind, num uint32, addr string, info *verbs.ConnInfo, err error) Event {
	e := Event{Kind: k, QP: num, Addr: addr, Err: err}
	if err == nil {
		e.Length, e.Depth, e.Resources = len(info.PrivateData), info.InitiatorDepth, info.ResponderResources
	}
	return e
}
