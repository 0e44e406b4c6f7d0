package rdmatcp

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// wcOpcode is what a request's completion calls it.
func (r *request) wcOpcode() verbs.WCOpcode {
	switch r.opcode {
	case verbs.RDMAWrite:
		return verbs.WCRDMAWrite
	case verbs.RDMARead:
		return verbs.WCRDMARead
	case verbs.LocalInvalidate:
		return verbs.WCLocalInvalidate
	}
	return verbs.WCSend
}

// describe returns what a request asks of the peer, for errors.
func (r *request) describe() string {
	if r.opcode == verbs.RDMARead || r.opcode == verbs.RDMAWrite {
		return fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x", r.opcode, r.total, r.addr, r.rkey)
	}
	return fmt.Sprintf("%v of %d bytes", r.opcode, r.total)
}

// completeSends completes the requests that are done, in order: one that is not
// holds up those behind it.
func (q *queuePair) completeSends() {
	for q.sq.len() > 0 && q.sq.at(q.sq.head).done {
		q.completeSend()
	}
}

// completeSend completes the oldest request.
func (q *queuePair) completeSend() {
	r := q.sq.at(q.sq.head)
	wc := verbs.WC{WRID: r.wrid, Status: r.status, Opcode: r.wcOpcode(), QPNum: q.Num()}
	if r.opcode == verbs.RDMARead && r.status == verbs.StatusSuccess {
		wc.ByteLen = uint32(r.total)
	}
	signaled := r.flags&verbs.SendSignaled != 0
	clear(r.sgl)
	r.sgl, r.control = r.sgl[:0], nil
	q.sq.pop()
	q.sendRoom++
	if wc.Status == verbs.StatusSuccess && !signaled {
		return // its entry is freed together with that of a later signaled one
	}
	room := q.sendRoom
	q.sendRoom = 0
	q.mu.Push(q.SendCQ, soft.Entry{WC: wc, QP: &q.QueuePair, SendRoom: room}, false)
}

// completeRecvs completes the Receives that are done and need not wait for a
// Read before them to be served (§3.4 Order), in order.
func (q *queuePair) completeRecvs() {
	for q.rq.len() > 0 {
		r := q.rq.at(q.rq.head)
		if !r.done || r.barrier > q.resp.head {
			return
		}
		q.completeRecv()
	}
}

// completeRecv completes the oldest Receive.
func (q *queuePair) completeRecv() {
	r := q.rq.at(q.rq.head)
	if r.invalidate != 0 {
		// The owner may have been faster since it was checked: as good. Whoever
		// pins it waits for nothing that needs mu.
		q.PD.InvalidateKey(r.invalidate)
	}
	wc, solicited := r.wc, r.solicited
	wc.WRID, wc.Opcode, wc.QPNum = r.wrid, verbs.WCRecv, q.Num()
	clear(r.sgl)
	*r = recv{sgl: r.sgl[:0]}
	q.rq.pop()
	q.mu.Push(q.RecvCQ, soft.Entry{WC: wc, QP: &q.QueuePair}, solicited)
}

// end begins the end of the queue pair, if it has not begun. mu is held. last is
// what the peer is told, if there is one.
func (q *queuePair) end(why error, last report) {
	if q.ending || q.State() >= verbs.StateError {
		return
	}
	q.ending, q.err, q.last = true, why, last
	close(q.endStarted)
	if q.cancel != nil {
		q.cancel(why)
	}
	if w := q.wire.Load(); w != nil {
		if errors.Is(why, verbs.ErrConnectionBroken) {
			q.dev.stats.broken.Add(1)
		}
		w.stop()
	}
	if q.ioCount == 0 {
		q.finish()
	}
}

// ioDone is done with a read or write, during which mu was not held and busy was
// counted up.
func (q *queuePair) ioDone() {
	if q.ioCount--; q.ioCount == 0 && q.ending && q.State() < verbs.StateError {
		q.finish()
	}
}

// finish completes all that is outstanding, when nobody touches its memory any
// more. What follows a request that did not succeed is flushed: a Send was done when its bytes were
// written, while a Read before it still waited for its answer.
func (q *queuePair) finish() {
	for failed := false; q.sq.len() > 0; q.completeSend() {
		r := q.sq.at(q.sq.head)
		if !r.done || failed && r.status == verbs.StatusSuccess {
			r.status = verbs.StatusFlushed
		}
		failed = failed || r.status != verbs.StatusSuccess
	}
	for q.rq.len() > 0 {
		if r := q.rq.at(q.rq.head); !r.done {
			r.wc = verbs.WC{Status: verbs.StatusFlushed}
		}
		q.completeRecv()
	}
	q.sq, q.rq, q.resp, q.reads = ring[request]{}, ring[recv]{}, ring[response]{}, ring[uint64]{}
	q.state.Store(uint32(verbs.StateError))
	q.mu.Notify(q.Cfg.Notify)
	close(q.ended)
}
