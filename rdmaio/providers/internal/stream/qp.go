package stream

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
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

	conn atomic.Pointer[Conn]

	mu soft.Mutex

	// The end of the connection: it starts with end and is complete with finish.
	err        error
	ending     bool
	ioCount    int           // goroutines in the middle of a read or write of registered memory
	endStarted chan struct{} // closed by end
	ended      chan struct{} // closed by finish
	cancel     func(error)   // cancels a Dial in progress
	last       Report        // the report for the peer

	depth, resources int    // Reads of ours and of the peer that may be outstanding, as negotiated
	maxSend          uint32 // length of the longest Send that the peer accepts

	sq    ring[Request] // requests that are not completed
	reads ring[uint64]  // numbers in sq of Reads that were sent and not answered
	rq    ring[recv]    // Receives that are not completed

	// Sending: see pump.go.
	sending      bool          // a goroutine has the token
	handoff      chan struct{} // capacity 1: hands the token to the writer
	writing      bool          // the writer was started
	out          *batch        // the batch of the token's holder; nil if none is borrowed
	corked       bool          // the reader will send: see cork
	inlineWrites int           // times that a posting goroutine has sent since the last arrival
	heard        bool          // a frame has arrived
	posts        int           // posts since the last arrival
	streaming    bool          // there was more than one post before the last arrival
	sqNext       uint64        // number of the first request that was not sent as a whole
	begun        bool          // the Framer has begun request sqNext
	sqSent       int           // bytes of it that are in batches
	resp         ring[Response]
	rspNext      uint64      // number of the first response that was not sent as a whole
	mayWrite     bool        // Sender.Ready has returned true
	paused       bool        // Session.Pause is not over
	timer        *time.Timer // calls endPause; may be nil
	nudge        []byte      // Session.Nudge
	nudgeDue     bool        // it must be sent

	// Receiving: see receive.go.
	messages ring[message] // messages of the first Receives of rq, with their numbers
	woken    chan struct{} // capacity 1: what the reader waits for may have happened (await)
	in       incoming
	turn     turn // the goroutine that receives
}

var (
	_ verbs.QueuePair          = (*queuePair)(nil)
	_ verbs.ReasonDisconnecter = (*queuePair)(nil)
)

// recv is a posted Receive. There are many at rest.
type recv struct {
	wrid  uint64
	sgl   *soft.List // nil if RecvWR.Lend is total
	total uint32
}

// list returns the memory of the Receive. Without memory the list is empty.
func (r *recv) list() soft.List {
	if r.sgl == nil {
		return nil
	}
	return *r.sgl
}

// keep sets the memory of the Receive.
func (r *recv) keep(l soft.List) {
	if r.sgl == nil {
		r.sgl = new(soft.List)
	}
	*r.sgl = l
}

// message is a Send of the peer that has a Receive.
type message struct {
	done       bool // wc is set; the Receive completes after those before it
	wc         verbs.WC
	solicited  bool
	invalidate uint32 // key to invalidate when the Receive completes, or 0
	barrier    uint64 // the Receive completes after all responses before this number were written
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
	q.disconnect(verbs.ErrDisconnected, ReasonGoodbye)
	return nil
}

// DisconnectFor implements verbs.ReasonDisconnecter. It returns verbs.ErrNotSupported if the
// framing has no reports, or if this side may not send yet (Sender.Ready).
func (q *queuePair) DisconnectFor(why verbs.DisconnectReason) error {
	if no := q.dev.cfg.NoReports; no != "" {
		return fmt.Errorf("%s: queue pair %d: disconnect with reason %v: %s: %w", q.dev.cfg.Provider, q.Num(), why, no, verbs.ErrNotSupported)
	}
	said := ReasonGoodbye
	switch why {
	case verbs.ReasonRule:
		said = ReasonFormat
	case verbs.ReasonTime:
		said = ReasonSlow
	}
	q.mu.Lock()
	early := said != ReasonGoodbye && q.State() == verbs.StateConnected && !q.mayWrite
	q.mu.Unlock()
	if early {
		return fmt.Errorf("%s: queue pair %d: disconnect with reason %v: the peer must send first, and has sent nothing: %w", q.dev.cfg.Provider, q.Num(), why, verbs.ErrNotSupported)
	}
	q.disconnect(verbs.ErrDisconnected, said)
	return nil
}

func (q *queuePair) disconnect(why error, said Reason) {
	q.mu.Lock()
	q.end(why, Report{Reason: said})
	q.mu.UnlockNotify()
	<-q.ended
}

// Close implements verbs.QueuePair.
func (q *queuePair) Close() error {
	q.disconnect(verbs.ErrDisconnected, ReasonGoodbye)
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
func (q *queuePair) Removed() { q.disconnect(verbs.ErrDeviceRemoved, ReasonGoodbye) }

// Interrupt implements soft.Owner.
func (q *queuePair) Interrupt() {
	if c := q.conn.Load(); c != nil {
		c.interrupt()
	}
}

// endPause ends Session.Pause, and is called once more after Session.Patience if there is a nudge.
// sent is Session.Sent.
func (q *queuePair) endPause(patience time.Duration, sent bool) {
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	if q.ending {
		return
	}
	q.paused = false
	switch {
	case q.heard || q.nudge == nil:
	case patience > 0:
		q.timer = time.AfterFunc(patience, func() { q.endPause(0, sent) })
	default:
		q.nudgeDue = sent || q.sqNext > 0
	}
	q.kick()
}

// start moves a queue pair from StateConnecting to StateConnected and starts its
// reader. If the queue pair has failed since, start returns the reason.
func (q *queuePair) start(c *Conn, s *Session) error {
	c.borrowInput()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return q.err
	}
	q.depth, q.resources, q.maxSend, q.cancel = s.InitiatorDepth, s.ResponderResources, s.MaxSend, nil
	c.framer, c.sum, c.turn = s.Framer, s.Sum, &q.turn
	q.mayWrite = c.framer.Ready()
	if s.Pause > 0 || len(s.Nudge) > 0 {
		q.nudge, q.paused = s.Nudge, s.Pause > 0
		q.timer = time.AfterFunc(s.Pause, func() { q.endPause(s.Patience, s.Sent) })
	}
	q.conn.Store(c)
	q.SetState(verbs.StateConnected)
	d := q.dev
	d.stats.connections.Add(1)
	d.last.Add(1) // the device is open, because the queue pair is
	d.goroutines.Go(func() { q.readLoop(c) })
	return nil
}
