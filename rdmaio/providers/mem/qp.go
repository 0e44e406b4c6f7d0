package mem

import (
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queuePair implements verbs.QueuePair. Its link guards all fields that are not atomic.
type queuePair struct {
	soft.QueuePair
	dev *device

	link  atomic.Pointer[link]
	err   error
	peer  *queuePair    // set from StateConnected on
	abort chan struct{} // closed to make Dial give up
	depth int           // negotiated initiator depth

	binding []byte // of the connection, the same at the peer; set with peer

	waiting []soft.Request // posted while the network is on hold
	scratch soft.List      // of the request being posted

	rq              []recv // ring
	rqHead, rqCount int
}

var (
	_ verbs.QueuePair          = (*queuePair)(nil)
	_ verbs.ReasonDisconnecter = (*queuePair)(nil)
)

// recv is a posted Receive.
type recv struct {
	wrid  uint64
	total int
	sgl   soft.List
}

// Err implements verbs.QueuePair.
func (q *queuePair) Err() error {
	l := q.lock()
	defer l.Unlock()
	return q.err
}

// Disconnect implements verbs.QueuePair. Copies are made with the link locked, so none is in
// progress when it has locked the link.
func (q *queuePair) Disconnect() error {
	return q.DisconnectFor(verbs.ReasonDone)
}

// DisconnectFor implements verbs.ReasonDisconnecter.
func (q *queuePair) DisconnectFor(reason verbs.DisconnectReason) error {
	l := q.lock()
	peers := reason.PeerErr()
	if q.peer != nil && reason != verbs.ReasonDone {
		peers = fmt.Errorf("mem: queue pair %d: %w", q.peer.Num(), peers)
	}
	l.end(q, verbs.ErrDisconnected, peers)
	l.UnlockNotify()
	return nil
}

// Close implements verbs.QueuePair.
func (q *queuePair) Close() error {
	l := q.lock()
	if q.State() == verbs.StateClosed {
		l.UnlockNotify()
		return nil
	}
	l.end(q, verbs.ErrDisconnected, verbs.ErrPeerDisconnected)
	q.SetState(verbs.StateClosed)
	q.ReleaseCQs()
	l.UnlockNotify()
	q.Unregister()
	return nil
}

// Removed implements soft.Owner.
func (q *queuePair) Removed() {
	l := q.lock()
	l.end(q, verbs.ErrDeviceRemoved, verbs.ErrPeerDisconnected)
	l.UnlockNotify()
}

// Interrupt implements soft.Owner. It does nothing: a copy never waits.
func (q *queuePair) Interrupt() {}
