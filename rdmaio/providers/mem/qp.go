package mem

import (
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair. Its link guards what is not atomic.
type queuePair struct {
	pd             *protectionDomain
	num            uint32
	sendCQ, recvCQ *completionQueue
	cfg            verbs.QPConfig // with the defaults filled in
	notify         func()

	link  atomic.Pointer[link]
	state atomic.Uint32 // verbs.QPState; written under the link
	err   error
	peer  *queuePair    // from StateConnected on
	abort chan struct{} // closed when Dial must give up
	depth int           // negotiated initiator depth

	sqUsed, rqUsed atomic.Int32 // entries in use, until polled
	sendRoom       int32        // entries of requests that ran and were not reported yet
	held           []request    // posted while the network is on hold
	scratch        []element    // of the request being posted

	rq              []recv // ring
	rqHead, rqCount int
}

var _ verbs.QueuePair = (*queuePair)(nil)

// element is a checked SGE: its range is within that registration.
type element struct {
	mr           *memoryRegion
	registration uint64 // of mr, when the request was posted
	off, n       int
}

// request is a checked send request.
type request struct {
	wrid       uint64
	opcode     verbs.Opcode
	flags      verbs.SendFlags
	rkey       uint32
	invalidate uint32
	addr       uint64
	total      int
	sgl        []element
}

// recv is a posted Receive.
type recv struct {
	wrid  uint64
	total int
	sgl   []element
}

// CreateQP implements verbs.ProtectionDomain.
func (pd *protectionDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	a := &pd.dev.attrs
	if err := pd.dev.usable(); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name       string
		value      *int
		def, limit int
	}{
		{"MaxSendWR", &cfg.MaxSendWR, 128, a.MaxSendWR},
		{"MaxRecvWR", &cfg.MaxRecvWR, 128, a.MaxRecvWR},
		{"MaxSendSGE", &cfg.MaxSendSGE, 4, a.MaxSendSGE},
		{"MaxRecvSGE", &cfg.MaxRecvSGE, 4, a.MaxRecvSGE},
	} {
		switch {
		case *f.value == 0:
			*f.value = min(f.def, f.limit)
		case *f.value < 0:
			return nil, fmt.Errorf("mem: create queue pair: %s %d: %w", f.name, *f.value, verbs.ErrInvalidValue)
		case *f.value > f.limit:
			return nil, fmt.Errorf("mem: create queue pair: %s %d, limit is %d: %w", f.name, *f.value, f.limit, verbs.ErrTooLarge)
		}
	}
	sendCQ, okSend := cfg.SendCQ.(*completionQueue)
	recvCQ, okRecv := cfg.RecvCQ.(*completionQueue)
	switch {
	case cfg.SendCQ == nil || cfg.RecvCQ == nil:
		return nil, fmt.Errorf("mem: create queue pair: SendCQ and RecvCQ are required: %w", verbs.ErrInvalidValue)
	case !okSend || !okRecv || sendCQ.dev != pd.dev || recvCQ.dev != pd.dev:
		return nil, fmt.Errorf("mem: create queue pair: completion queue: %w", verbs.ErrForeignObject)
	}

	q := &queuePair{
		pd: pd, num: pd.dev.net.numbers.Add(1), sendCQ: sendCQ, recvCQ: recvCQ, cfg: cfg, notify: cfg.Notify,
		abort:   make(chan struct{}),
		scratch: make([]element, 0, cfg.MaxSendSGE),
		rq:      make([]recv, cfg.MaxRecvWR),
	}
	q.link.Store(&link{number: q.num})
	elements := make([]element, cfg.MaxRecvWR*cfg.MaxRecvSGE)
	for i := range q.rq {
		at := i * cfg.MaxRecvSGE
		q.rq[i].sgl = elements[at : at : at+cfg.MaxRecvSGE]
	}

	if err := q.enter(); err != nil {
		return nil, fmt.Errorf("mem: create queue pair: %w", err)
	}
	return q, nil
}

// enter takes the queue pair's share of its queues, domain and device.
func (q *queuePair) enter() error {
	if err := q.sendCQ.reserve(q.cfg.MaxSendWR); err != nil {
		return err
	}
	if err := q.recvCQ.reserve(q.cfg.MaxRecvWR); err != nil {
		q.sendCQ.release(q, q.cfg.MaxSendWR)
		return err
	}
	q.pd.mu.Lock()
	closed := q.pd.closed
	if !closed {
		q.pd.qps++
	}
	q.pd.mu.Unlock()
	if closed {
		q.sendCQ.release(q, q.cfg.MaxSendWR)
		q.recvCQ.release(q, q.cfg.MaxRecvWR)
		return fmt.Errorf("protection domain: %w", verbs.ErrClosed)
	}
	d := q.pd.dev
	d.mu.Lock()
	d.qps[q] = struct{}{}
	removed := d.removed
	d.mu.Unlock()
	if removed { // while we were at it: Remove has not seen this one
		q.Close()
		return fmt.Errorf("device %s: %w", d.attrs.Name, verbs.ErrDeviceRemoved)
	}
	return nil
}

// Num implements verbs.QueuePair.
func (q *queuePair) Num() uint32 { return q.num }

// State implements verbs.QueuePair.
func (q *queuePair) State() verbs.QPState { return verbs.QPState(q.state.Load()) }

// Err implements verbs.QueuePair.
func (q *queuePair) Err() error {
	l := q.lock()
	defer l.mu.Unlock()
	return q.err
}

// Disconnect implements verbs.QueuePair. A copy in progress holds the link,
// so none is left when the link was had.
func (q *queuePair) Disconnect() error {
	l := q.lock()
	l.end(q, verbs.ErrDisconnected, verbs.ErrPeerDisconnected)
	l.unlock()
	return nil
}

// Close implements verbs.QueuePair.
func (q *queuePair) Close() error {
	l := q.lock()
	if q.State() == verbs.StateClosed {
		l.unlock()
		return nil
	}
	l.end(q, verbs.ErrDisconnected, verbs.ErrPeerDisconnected)
	q.state.Store(uint32(verbs.StateClosed))
	q.sendCQ.release(q, q.cfg.MaxSendWR)
	q.recvCQ.release(q, q.cfg.MaxRecvWR)
	l.unlock()

	q.pd.mu.Lock()
	q.pd.qps--
	q.pd.mu.Unlock()
	d := q.pd.dev
	d.mu.Lock()
	delete(d.qps, q)
	d.mu.Unlock()
	return nil
}
