package ibverbs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// listener implements verbs.Listener.
type listener struct {
	dev   *Device
	addr  string
	queue chan *connRequest
	done  chan struct{} // closed when Close begins
	gone  chan struct{} // closed when it has stopped

	mu     sync.Mutex // held to close, and to add to queue
	id     lib.ID
	closed bool
}

func (d *Device) listen(ctx context.Context, addr string) (*listener, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, err := resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	sa, err := sockaddr(at)
	if err != nil {
		return nil, err
	}
	id, err := d.lib.CreateID(d.cm, 0)
	if err != nil {
		return nil, d.callError("create an rdma_cm_id", err)
	}
	l := &listener{dev: d, id: id, queue: make(chan *connRequest, d.cfg.Backlog), done: make(chan struct{}), gone: make(chan struct{})}
	d.objects.addID(id, l)
	err = d.lib.BindAddr(id, sa)
	if err == nil {
		err = d.lib.Listen(id, d.cfg.Backlog)
	}
	if err != nil {
		d.objects.dropID(id)
		return nil, errors.Join(d.listenError(at, err), d.lib.DestroyID(id))
	}
	f := abi.GetCMID(uintptr(id))
	l.addr = fromSockaddr(f.Src).String()
	if !at.Addr().IsUnspecified() && f.Verbs != uintptr(d.ctx) {
		err = d.otherDevice(at, f.Verbs)
	}
	if err == nil {
		err = d.soft.Listen(l) // fails if the device has been removed
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Addr implements verbs.Listener.
func (l *listener) Addr() string { return l.addr }

// handle implements cmObject. Requests come by Device.connectRequest.
func (l *listener) handle(abi.CMEvent) {}

// connectRequest handles a connection request. Its event has an rdma_cm_id for the new connection.
func (d *Device) connectRequest(e abi.CMEvent) {
	c := newConnection(d, lib.ID(e.ID))
	l, _ := d.objects.object(lib.ID(e.ListenID)).(*listener)
	d.objects.addID(lib.ID(e.ID), c)
	f := abi.GetCMID(e.ID)
	r := &connRequest{dev: d, conn: c, event: e, remote: fromSockaddr(f.Dst).String()}
	// A listener at all addresses gets the requests of all devices.
	if l == nil || f.Verbs != uintptr(d.ctx) || !l.add(r) {
		d.ends.Add(1)
		go func() { // calls of the library wait until this event is acknowledged
			defer d.ends.Done()
			r.refuse()
		}()
	}
}

// add adds a request to the queue. It returns false if there is no space, or the listener is
// closed.
func (l *listener) add(r *connRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.queue <- r:
		return true
	default:
		return false
	}
}

// Accept implements verbs.Listener.
func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	var err error
	select {
	case <-l.done:
		err = verbs.ErrClosed
	default:
		err = ctx.Err()
	}
	if err == nil {
		select {
		case r := <-l.queue:
			return r, nil
		case <-l.done:
			err = verbs.ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return nil, fmt.Errorf("ibverbs: accept at %s: %w", l.addr, err)
}

// Close implements verbs.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		<-l.gone // the device may be closing it, because it was removed
		return nil
	}
	l.closed = true
	close(l.done)
	defer close(l.gone)
	l.mu.Unlock()
	d := l.dev
	d.objects.dropID(l.id)
	err := d.lib.DestroyID(l.id)
	for {
		select {
		case r := <-l.queue:
			r.refuse()
			continue
		default:
		}
		break
	}
	d.soft.Unlisten(l)
	if err != nil && !d.gone() {
		return d.fail("close the listener at "+l.addr, err)
	}
	return nil
}

// connRequest implements verbs.ConnRequest.
type connRequest struct {
	dev    *Device
	conn   *connection
	event  abi.CMEvent
	remote string

	mu       sync.Mutex
	answered bool
}

// PrivateData implements verbs.ConnRequest.
func (r *connRequest) PrivateData() []byte { return r.event.PrivateData }

// RemoteAddr implements verbs.ConnRequest.
func (r *connRequest) RemoteAddr() string { return r.remote }

// Accept implements verbs.ConnRequest.
func (r *connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	q, p, err := r.answer(qp, params)
	if err == nil {
		var info *verbs.ConnInfo
		if info, err = r.accept(ctx, q, &p); err == nil {
			return info, nil
		}
		err = q.giveUp(err)
	}
	return nil, fmt.Errorf("ibverbs: accept the request of %s: %w", r.remote, err)
}

// answer marks the request as answered with a queue pair, unless the arguments are wrong.
func (r *connRequest) answer(qp verbs.QueuePair, params *verbs.ConnParams) (*queuePair, verbs.ConnParams, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return nil, verbs.ConnParams{}, fmt.Errorf("the request was answered: %w", verbs.ErrInvalidState)
	}
	q, p, err := r.dev.connecting(qp, params, r.conn)
	r.answered = err == nil
	return q, p, err
}

// accept connects the queue pair.
func (r *connRequest) accept(ctx context.Context, q *queuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	d, c := r.dev, r.conn
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.InitiatorDepth, p.ResponderResources = d.depths(&r.event, p)
	if d.quirks.BrittleReply {
		way, err := c.path()
		if err != nil {
			return nil, err
		}
		c.before = bytesFrom(d, way)
	}
	err := c.join(q, func(id lib.ID) error {
		param := d.connParam(q, p)
		return d.lib.Accept(id, &param)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", verbs.ErrPeerDisconnected, d.callError("accept", err))
	}
	if _, err := c.await(ctx, abi.CMEstablished); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %w", verbs.ErrPeerDisconnected, err)
	}
	return q.establish(c, &r.event, p, r.event.PrivateData)
}

// Reject implements verbs.ConnRequest.
func (r *connRequest) Reject(privateData []byte) error {
	d := r.dev
	if limit := d.attrs.MaxPrivateData; len(privateData) > limit {
		return fmt.Errorf("ibverbs: reject the request of %s: private data of %d bytes, limit is %d: %w", r.remote, len(privateData), limit, verbs.ErrTooLarge)
	}
	r.mu.Lock()
	answered := r.answered
	r.answered = true
	r.mu.Unlock()
	if answered {
		return fmt.Errorf("ibverbs: reject: the request was answered: %w", verbs.ErrInvalidState)
	}
	// An error means that the peer has given up, which a rejection does not report.
	_ = r.conn.do(func(id lib.ID) error { return d.reject.send(d.lib, id, privateData) })
	if err := r.conn.close(); err != nil && !d.gone() {
		return d.fail("close a rejected request", err)
	}
	return nil
}

// refuse rejects the request without a reason, unless it was answered.
func (r *connRequest) refuse() { _ = r.Reject(nil) }

// rejectData is memory outside the Go heap for the private data of rejections.
type rejectData struct {
	mu  sync.Mutex
	mem []byte
}

func (m *rejectData) open() (err error) {
	m.mem, err = mapMemory(maxPrivate)
	return err
}

func (m *rejectData) send(l lib.Lib, id lib.ID, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return l.Reject(id, m.mem[:copy(m.mem, data)])
}

func (m *rejectData) close() error {
	if m.mem == nil {
		return nil
	}
	return unmapMemory(m.mem)
}
