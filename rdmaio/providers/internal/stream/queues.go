package stream

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// queues has the requests and Receives that are not completed, and the end of the connection. mu
// guards its fields, except the atomic ones, and the sender's.
//
//	posted ──> sq ──> sent, or for a Read answered ──> completeSends ──> SendCQ
//	posted ──> rq ──> messages: a Send has come ─────> completeRecvs ──> RecvCQ
//	Read of the peer ──> resp ──> sent: a Receive after it may complete
//	end ──> no read or write in progress ──> finish: the rest of sq and rq is flushed
type queues struct {
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
	timer      *time.Timer   // calls sender.endPause; may be nil
	last       Report        // the report for the peer

	depth, resources int    // outstanding Reads that were agreed: ours, the peer's
	maxSend          uint32 // length of the longest Send that the peer accepts

	sq       ring[Request]  // requests that are not completed
	reads    ring[uint64]   // numbers in sq of Reads that were sent and not answered
	rq       ring[recv]     // Receives that are not completed
	messages ring[message]  // the messages for the first Receives in rq, with the same numbers
	resp     ring[Response] // responses to Reads of the peer that were not sent as a whole

	woken chan struct{} // capacity 1: what the reader waits for may have happened (reader.await)
}

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
func (q *queues) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.State() < verbs.StateError {
		return nil
	}
	return q.err
}

// wake makes the reader look again at what it waits for in await.
func (q *queues) wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// refuse breaks the connection because the peer sent a wrong message, and reports the reason to the
// peer. q.mu must be held.
func (q *queues) refuse(why Report, what string) error {
	err := fmt.Errorf("%w: queue pair %d: peer's message %#x: %s", verbs.ErrConnectionBroken, q.Num(), why.Number, what)
	q.end(err, why)
	return err
}
