package stream

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// describe describes a request, for errors.
func (r *Request) describe() string {
	if r.Opcode == verbs.RDMARead || r.Opcode == verbs.RDMAWrite {
		return fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x", r.Opcode, r.Total, r.Addr, r.RKey)
	}
	return fmt.Sprintf("%v of %d bytes", r.Opcode, r.Total)
}

// completeSends completes requests that are done, in order, up to the first that is not.
func (q *queues) completeSends() {
	for q.sq.len() > 0 && q.sq.at(q.sq.head).done {
		q.completeSend()
	}
}

// completeSend completes the oldest request of the send queue.
func (q *queues) completeSend() {
	r := q.sq.at(q.sq.head)
	q.CompleteSend(&q.mu, &r.Request, r.status)
	clear(r.SGL)
	r.SGL, r.Extra = r.SGL[:0], nil
	q.sq.pop()
}

// completeRecvs completes Receives that are done, in order, up to the first that is
// not, or that must wait until an earlier Read of the peer was served.
func (q *queues) completeRecvs() {
	for q.messages.len() > 0 {
		a := q.messages.at(q.messages.head)
		if !a.done || a.barrier > q.resp.head {
			return
		}
		q.completeRecv(a)
		*a = message{}
		q.messages.pop()
	}
}

// completeRecv completes the oldest Receive with a message.
func (q *queues) completeRecv(a *message) {
	if a.invalidate != 0 {
		// The result does not matter: the region's owner may have invalidated it since
		// it was checked. A holder of a pin does not wait for mu, so this does not block.
		q.PD.InvalidateKey(a.invalidate)
	}
	r := q.rq.at(q.rq.head)
	q.CompleteRecv(&q.mu, r.wrid, a.wc, a.solicited)
	clear(r.list())
	*r = recv{sgl: r.sgl}
	q.rq.pop()
}

// end starts the end of the queue pair, unless it has started. q.mu must be held. last is the
// report for the peer, if it has a reason.
func (q *queues) end(why error, last Report) {
	if q.ending || q.State() >= verbs.StateError {
		return
	}
	q.ending, q.err, q.last = true, why, last
	close(q.endStarted)
	if q.timer != nil {
		q.timer.Stop()
	}
	if q.cancel != nil {
		q.cancel(why)
	}
	if c := q.conn.Load(); c != nil {
		if errors.Is(why, verbs.ErrConnectionBroken) {
			q.dev.stats.broken.Add(1)
		}
		c.stop()
	}
	if q.ioCount == 0 {
		q.finish()
	}
}

// ioDone uncounts a read or write that the caller has counted in ioCount. q.mu must be held.
func (q *queues) ioDone() {
	if q.ioCount--; q.ioCount == 0 && q.ending && q.State() < verbs.StateError {
		q.finish()
	}
}

// finish completes all outstanding requests and enters StateError. No read or write is
// in progress. Requests behind one that did not succeed are flushed, even if they are
// done: a Send is done when its bytes are written, while a Read before it still waits
// for its response.
func (q *queues) finish() {
	for failed := false; q.sq.len() > 0; q.completeSend() {
		r := q.sq.at(q.sq.head)
		if !r.done || failed && r.status == verbs.StatusSuccess {
			r.status = verbs.StatusFlushed
		}
		failed = failed || r.status != verbs.StatusSuccess
	}
	for q.rq.len() > 0 {
		a := &message{}
		if i := q.rq.head; i < q.messages.tail {
			a = q.messages.at(i)
		}
		if !a.done {
			a.wc = verbs.WC{Status: verbs.StatusFlushed}
		}
		q.completeRecv(a)
	}
	q.messages = ring[message]{}
	q.sq, q.rq, q.resp, q.reads = ring[Request]{}, ring[recv]{}, ring[Response]{}, ring[uint64]{}
	q.SetState(verbs.StateError)
	q.mu.Notify(q.Cfg.Notify)
	close(q.ended)
}
