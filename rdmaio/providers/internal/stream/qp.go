package stream

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair: what its user calls. The work is in three parts, and each
// knows only those below it:
//
//	queuePair   posts, connects, disconnects, closes
//	    │
//	reader      the frames that arrive: read, checked, placed, carried out
//	    │
//	sender      the token and its batch: frames that can be sent, and their writes
//	    │
//	queues      requests, Receives and responses; their completions, in order; the end
//	    │
//	Conn        the byte stream
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
	queues
	sender sender
	reader reader
}

// newQueuePair returns a queue pair of a device, before soft.QueuePair.Configure.
func newQueuePair(d *Device) *queuePair {
	q := &queuePair{queues: queues{dev: d, endStarted: make(chan struct{}), ended: make(chan struct{}), woken: make(chan struct{}, 1)}}
	q.sender = sender{q: &q.queues, handoff: make(chan struct{}, 1)}
	q.reader = reader{q: &q.queues, s: &q.sender, turn: newTurn()}
	return q
}

var (
	_ verbs.QueuePair          = (*queuePair)(nil)
	_ verbs.ReasonDisconnecter = (*queuePair)(nil)
	_ verbs.Prober             = (*queuePair)(nil)
)

// Probe implements verbs.Prober by a keepalive probe of the system.
func (q *queuePair) Probe(limit time.Duration) error {
	if c := q.conn.Load(); c != nil {
		c.probes.Probe(c.conn, limit, q.dev.cfg.PeerTimeout)
	}
	return nil
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
	early := said != ReasonGoodbye && q.State() == verbs.StateConnected && !q.sender.mayWrite
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

// Removed implements soft.Owner. Notifications do not run on the goroutine that removes the device
// (verbs.DeviceAttributes.ReaderNotifies).
func (q *queuePair) Removed() {
	q.dev.goroutines.Go(func() { q.disconnect(verbs.ErrDeviceRemoved, ReasonGoodbye) })
	<-q.ended
}

// Interrupt implements soft.Owner.
func (q *queuePair) Interrupt() {
	if c := q.conn.Load(); c != nil {
		c.interrupt()
	}
}

// start moves a queue pair from StateConnecting to StateConnected and starts its
// reader. If the queue pair has failed since, start returns the reason.
func (q *queuePair) start(c *Conn, s *Session) error {
	c.input.borrow()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return q.err
	}
	q.depth, q.resources, q.maxSend, q.cancel = s.InitiatorDepth, s.ResponderResources, s.MaxSend, nil
	c.framer, c.sum, c.turn = s.Framer, s.Sum, &q.reader.turn
	q.sender.start(c.framer.Ready(), s)
	q.conn.Store(c)
	q.SetState(verbs.StateConnected)
	d := q.dev
	d.stats.connections.Add(1)
	d.last.Add(1) // the device is open, because the queue pair is
	d.goroutines.Go(func() { q.reader.readLoop(c) })
	return nil
}
