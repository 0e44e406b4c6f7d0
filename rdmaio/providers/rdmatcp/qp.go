package rdmatcp

import (
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair. mu guards all fields that are not atomic.
//
// Its states, and the functions that change them:
//
//	StateInit
//	    │ Dial or Accept: connecting
//	StateConnecting
//	    │ the handshake has succeeded: start
//	StateConnected                          Sends, Writes and Reads may be posted
//	    │ end, from any state above: Disconnect, an error, the peer's end of the stream
//	(ending)                                the state as before, and posts are refused
//	    │ no read or write is in progress (ioCount is 0): finish, which flushes all requests
//	StateError                              no memory is accessed any more
//	    │ Close
//	StateClosed
//
// After finish the reader sends the last bytes (lastBytes) and closes the stream, in
// the background.
type queuePair struct {
	soft.QueuePair
	dev *Device

	wire atomic.Pointer[wire]

	mu soft.Mutex

	// The end of the connection: it starts with end and is complete with finish.
	err        error
	ending     bool
	ioCount    int           // goroutines in the middle of a read or write of registered memory
	endStarted chan struct{} // closed by end
	ended      chan struct{} // closed by finish
	cancel     func(error)   // cancels a Dial in progress
	last       report        // the report for the peer

	depth, resources int    // Reads of ours and of the peer that may be outstanding, as negotiated
	maxSend          uint32 // length of the longest Send that the peer accepts

	sq    ring[request] // requests that are not completed
	reads ring[uint64]  // numbers in sq of Reads that were sent and not answered
	rq    ring[recv]    // Receives that are not completed

	// Sending: see pump.go.
	sending      bool          // a goroutine has the token
	handoff      chan struct{} // capacity 1: hands the token to the writer
	writing      bool          // the writer was started
	out          *batch        // the batch of the token's holder; nil if none is borrowed
	corked       bool          // the reader will send: see cork
	inlineWrites int           // times that a posting goroutine has sent since the last arrival
	posts        int           // posts since the last arrival
	streaming    bool          // there was more than one post before the last arrival
	sqNext       uint64        // number of the first request that was not sent as a whole
	begun        bool          // request sqNext has a message number
	sqSent       int           // bytes of request sqNext that are in batches
	segmentSize  int           // bytes of payload of its segments, except the last
	resp         ring[response]
	rspNext      uint64                 // number of the first response that was not sent as a whole
	control      [4 * controlWords]byte // control data of a SendWithInvalidate

	// Receiving: see receive.go.
	rqNext uint64        // number of the first Receive without a message
	woken  chan struct{} // capacity 1: what the reader waits for may have happened (await)
	in     incoming
}

var (
	_ verbs.QueuePair          = (*queuePair)(nil)
	_ verbs.ReasonDisconnecter = (*queuePair)(nil)
)

// request is a request of the send queue.
type request struct {
	soft.Request
	control *controlData // from RawConfig.Attach; may be nil

	number uint32 // the message number, once the message was begun
	done   bool   // status is set; the request completes after those before it
	status verbs.Status
}

// recv is a posted Receive.
type recv struct {
	wrid  uint64
	total int
	sgl   soft.List

	done       bool // wc is set; the Receive completes after those before it
	wc         verbs.WC
	solicited  bool
	invalidate uint32 // key to invalidate when the Receive completes, or 0
	barrier    uint64 // the Receive completes after all responses before this number were written
}

// response is the response to a Read of the peer.
type response struct {
	number uint32
	source [1]soft.Element // the zero value for a Read of no bytes
	total  int
	sent   int // bytes that are in batches
}

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

// DisconnectFor implements verbs.ReasonDisconnecter. It returns verbs.ErrNotSupported
// without a profile, which has the reports.
func (q *queuePair) DisconnectFor(why verbs.DisconnectReason) error {
	if q.dev.cfg.Raw != nil {
		return fmt.Errorf("rdmatcp: queue pair %d: disconnect with reason %v: needs the connection profile, which Config.Raw disables: %w", q.Num(), why, verbs.ErrNotSupported)
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
	q.SetState(verbs.StateClosed)
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

// start moves a queue pair from StateConnecting to StateConnected and starts its
// reader. If the queue pair has ended meanwhile, start returns the reason.
func (q *queuePair) start(w *wire, depth, resources int, maxSend uint32) error {
	w.borrowInput()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return q.err
	}
	q.depth, q.resources, q.maxSend, q.cancel = depth, resources, maxSend, nil
	q.wire.Store(w)
	q.SetState(verbs.StateConnected)
	d := q.dev
	d.stats.connections.Add(1)
	d.goroutines.Go(func() { q.readLoop(w) })
	return nil
}

// header returns a segment header with the fields that all segments of a message share.
func (w *wire) header(t segment.Type, number uint32) segment.Header {
	return segment.Header{Type: t, ConnID: w.stream.ConnID, Number: number}
}
