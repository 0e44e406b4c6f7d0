package rdmatcp

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair. mu guards what is not atomic.
type queuePair struct {
	pd             *protectionDomain
	num            uint32
	sendCQ, recvCQ *completionQueue
	cfg            verbs.QPConfig // with the defaults filled in

	state atomic.Uint32 // verbs.QPState; written under mu
	wire  atomic.Pointer[wire]

	mu       sync.Mutex
	due      []notification // to be run when mu is free
	spare    []notification
	draining bool // a goroutine is running notifications of this queue pair

	// The end. It begins with end, and is there when nobody touches registered
	// memory any more.
	err    error
	ending bool
	busy   int           // goroutines in the middle of a read or write
	dead   chan struct{} // closed when the end begins
	gone   chan struct{} // closed when it is there: StateError
	cancel func(error)   // of a Dial in progress
	last   report        // what the peer is to be told

	depth, resources int    // negotiated: Reads of ours, Reads of the peer
	maxSend          uint32 // what the peer takes

	sqUsed, rqUsed atomic.Int32 // entries in use, until polled
	sendRoom       int32        // entries of requests that completed and were not reported yet

	sq    ring[request] // posted and not completed
	reads ring[uint64]  // Reads among them that are on their way, by number
	rq    ring[recv]    // posted and not completed

	// Sending: see pump.go.
	sending bool          // somebody has the token
	turn    chan struct{} // of one: the writer has it
	out     batch         // the token holder's
	sqNext  uint64        // first request that was not begun, or is being sent
	sqSent  int           // bytes of it that were
	per     int           // bytes of each of its segments but the last
	begun   bool          // it was begun
	resp    ring[response]
	rspNext uint64 // as sqNext
	control [4 * controlWords]byte

	// Receiving: see receive.go.
	rqNext uint64        // first Receive that has no message
	posted chan struct{} // of one: something that the reader waits for may have happened
	in     incoming
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

	number uint32 // of its message, once begun
	done   bool   // with status, waiting for its turn to complete
	status verbs.Status
}

// recv is a posted Receive.
type recv struct {
	wrid  uint64
	total int
	sgl   []element

	done       bool // it has its message or its status, and waits for its turn
	wc         verbs.WC
	solicited  bool
	invalidate uint32 // key to invalidate before it completes
	barrier    uint64 // responses before this number must be away before
}

// response is a Read of the peer that is being served.
type response struct {
	number uint32
	source [1]element // nothing in it for a Read of no bytes
	total  int
	sent   int
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
			return nil, fmt.Errorf("rdmatcp: create queue pair: %s %d: %w", f.name, *f.value, verbs.ErrInvalidValue)
		case *f.value > f.limit:
			return nil, fmt.Errorf("rdmatcp: create queue pair: %s %d, limit is %d: %w", f.name, *f.value, f.limit, verbs.ErrTooLarge)
		}
	}
	sendCQ, okSend := cfg.SendCQ.(*completionQueue)
	recvCQ, okRecv := cfg.RecvCQ.(*completionQueue)
	switch {
	case cfg.SendCQ == nil || cfg.RecvCQ == nil:
		return nil, fmt.Errorf("rdmatcp: create queue pair: SendCQ and RecvCQ are required: %w", verbs.ErrInvalidValue)
	case !okSend || !okRecv || sendCQ.dev != pd.dev || recvCQ.dev != pd.dev:
		return nil, fmt.Errorf("rdmatcp: create queue pair: completion queue: %w", verbs.ErrForeignObject)
	}
	q := &queuePair{
		pd: pd, num: pd.dev.numbers.Add(1), sendCQ: sendCQ, recvCQ: recvCQ, cfg: cfg,
		dead: make(chan struct{}), gone: make(chan struct{}), turn: make(chan struct{}, 1), posted: make(chan struct{}, 1),
	}
	if err := q.enter(); err != nil {
		return nil, fmt.Errorf("rdmatcp: create queue pair: %w", err)
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
		q.pd.qps[q] = struct{}{}
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
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.State() < verbs.StateError {
		return nil
	}
	return q.err
}

// Disconnect implements verbs.QueuePair.
func (q *queuePair) Disconnect() error {
	q.disconnect(verbs.ErrDisconnected)
	return nil
}

func (q *queuePair) disconnect(why error) {
	q.mu.Lock()
	q.end(why, report{reason: reasonGoodbye})
	q.unlock()
	<-q.gone
}

// Close implements verbs.QueuePair.
func (q *queuePair) Close() error {
	q.disconnect(verbs.ErrDisconnected)
	q.mu.Lock()
	if q.State() == verbs.StateClosed {
		q.mu.Unlock()
		return nil
	}
	q.state.Store(uint32(verbs.StateClosed))
	q.sendCQ.release(q, q.cfg.MaxSendWR)
	q.recvCQ.release(q, q.cfg.MaxRecvWR)
	q.unlock()

	q.pd.mu.Lock()
	delete(q.pd.qps, q)
	q.pd.mu.Unlock()
	d := q.pd.dev
	d.mu.Lock()
	delete(d.qps, q)
	d.mu.Unlock()
	return nil
}

// attach connects a queue pair that is in StateConnecting and starts its
// goroutines. It fails with the reason why the queue pair has ended meanwhile.
func (q *queuePair) attach(w *wire, depth, resources int, maxSend uint32) error {
	w.widen()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return q.err
	}
	q.depth, q.resources, q.maxSend, q.cancel = depth, resources, maxSend, nil
	q.wire.Store(w)
	q.state.Store(uint32(verbs.StateConnected))
	d := q.pd.dev
	d.stats.connections.Add(1)
	d.goroutines.Add(2)
	go func() {
		defer d.goroutines.Done()
		q.readLoop(w)
	}()
	go func() {
		defer d.goroutines.Done()
		q.writeLoop()
	}()
	return nil
}

// header begins the header of a segment.
func (w *wire) header(t segment.Type, number uint32) segment.Header {
	return segment.Header{Type: t, ConnID: w.stream.ConnID, Number: number}
}
