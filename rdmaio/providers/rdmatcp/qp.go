package rdmatcp

import (
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair. mu guards what is not atomic.
type queuePair struct {
	soft.QueuePair
	dev *Device

	state atomic.Uint32 // verbs.QPState; written under mu
	wire  atomic.Pointer[wire]

	mu soft.Mutex

	// The end. It begins with end, and is there when nobody touches registered
	// memory any more.
	err        error
	ending     bool
	ioCount    int           // goroutines in the middle of a read or write
	endStarted chan struct{} // closed when the end begins
	ended      chan struct{} // closed when it is there: StateError
	cancel     func(error)   // of a Dial in progress
	last       report        // what the peer is to be told

	depth, resources int    // negotiated: Reads of ours, Reads of the peer
	maxSend          uint32 // what the peer takes

	sendRoom int32 // entries of requests that completed and were not reported yet

	sq    ring[request] // posted and not completed
	reads ring[uint64]  // Reads among them that are on their way, by number
	rq    ring[recv]    // posted and not completed

	// Sending: see pump.go.
	sending      bool          // somebody has the token
	handoff      chan struct{} // of one: the writer has it
	writing      bool          // there is a writer
	out          *batch        // the token holder's; nil if nobody ever was
	corked       bool          // the reader will send, when it has looked at all that came
	inlineWrites int           // writes by those who post, since something came
	posts        int           // posts since then
	streaming    bool          // there was more than one, the last time
	sqNext       uint64        // first request that was not begun, or is being sent
	sqSent       int           // bytes of it that were
	segmentSize  int           // bytes of each of its segments but the last
	begun        bool          // it was begun
	resp         ring[response]
	rspNext      uint64 // as sqNext
	control      [4 * controlWords]byte

	// Receiving: see receive.go.
	rqNext uint64        // first Receive that has no message
	woken  chan struct{} // of one: something that the reader waits for may have happened
	in     incoming
}

var (
	_ verbs.QueuePair          = (*queuePair)(nil)
	_ verbs.ReasonDisconnecter = (*queuePair)(nil)
)

// request is a checked send request.
type request struct {
	wrid       uint64
	opcode     verbs.Opcode
	flags      verbs.SendFlags
	rkey       uint32
	invalidate uint32
	addr       uint64
	total      int
	sgl        soft.List
	control    *controlData // nil: nothing

	number uint32 // of its message, once begun
	done   bool   // with status, waiting for its turn to complete
	status verbs.Status
}

// recv is a posted Receive.
type recv struct {
	wrid  uint64
	total int
	sgl   soft.List

	done       bool // it has its message or its status, and waits for its turn
	wc         verbs.WC
	solicited  bool
	invalidate uint32 // key to invalidate before it completes
	barrier    uint64 // responses before this number must be away before
}

// response is a Read of the peer that is being served.
type response struct {
	number uint32
	source [1]soft.Element // nothing in it for a Read of no bytes
	total  int
	sent   int
}

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
	q.disconnect(verbs.ErrDisconnected, reasonGoodbye)
	return nil
}

// DisconnectFor implements verbs.ReasonDisconnecter. Without profile there are no reports.
func (q *queuePair) DisconnectFor(why verbs.DisconnectReason) error {
	if q.dev.cfg.Raw != nil {
		return fmt.Errorf("rdmatcp: queue pair %d: a reason needs the connection profile, which the device leaves out: %w", q.Num(), verbs.ErrNotSupported)
	}
	said := reasonGoodbye
	switch why {
	case verbs.ReasonRule:
		said = reasonFormat
	case verbs.ReasonTime:
		said = reasonSlow
	}
	q.disconnect(verbs.ErrDisconnected, said)
	return nil
}

func (q *queuePair) disconnect(why error, said reason) {
	q.mu.Lock()
	q.end(why, report{reason: said})
	q.mu.UnlockNotify()
	<-q.ended
}

// Close implements verbs.QueuePair.
func (q *queuePair) Close() error {
	q.disconnect(verbs.ErrDisconnected, reasonGoodbye)
	q.mu.Lock()
	if q.State() == verbs.StateClosed {
		q.mu.Unlock()
		return nil
	}
	q.state.Store(uint32(verbs.StateClosed))
	q.ReleaseCQs()
	q.mu.UnlockNotify()
	q.Unregister()
	return nil
}

// Removed implements soft.Owner.
func (q *queuePair) Removed() { q.disconnect(verbs.ErrDeviceRemoved, reasonGoodbye) }

// Interrupt implements soft.Owner.
func (q *queuePair) Interrupt() {
	if w := q.wire.Load(); w != nil {
		w.interrupt()
	}
}

// start connects a queue pair that is in StateConnecting and starts its
// goroutines. It fails with the reason why the queue pair has ended meanwhile.
func (q *queuePair) start(w *wire, depth, resources int, maxSend uint32) error {
	w.borrowInput()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return q.err
	}
	q.depth, q.resources, q.maxSend, q.cancel = depth, resources, maxSend, nil
	q.wire.Store(w)
	q.state.Store(uint32(verbs.StateConnected))
	d := q.dev
	d.stats.connections.Add(1)
	d.goroutines.Go(func() { q.readLoop(w) })
	return nil
}

// header begins the header of a segment.
func (w *wire) header(t segment.Type, number uint32) segment.Header {
	return segment.Header{Type: t, ConnID: w.stream.ConnID, Number: number}
}
