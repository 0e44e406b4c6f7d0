package stream

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// commit carries out a frame whose checksum was checked: until then, nothing was reported. q.mu
// must be held.
func (q *queuePair) commit(c *Conn, f *Frame) error {
	switch {
	case f.Kind == KindReadRequest:
		q.queueResponse(f)
	case !f.End, f.Kind == KindWrite, f.Kind == KindNone:
		// The receiver of a Write is not notified (R6).
	case f.Kind == KindReadResponse:
		q.readDone()
	case f.Kind == KindReport:
		return q.reported(c, f)
	default:
		return q.deliver(c, f)
	}
	return nil
}

// queueResponse queues the response to a Read of the peer.
func (q *queuePair) queueResponse(f *Frame) {
	r := q.resp.next()
	*r = Response{Number: f.Number, Sink: f.Sink, SinkAddr: f.SinkAddr, Total: f.Length}
	if r.Total > 0 {
		r.source = q.in.read
	}
	q.resp.push()
	q.kick()
}

// readDone completes our oldest Read. Requests that waited for it may then be sent.
func (q *queuePair) readDone() {
	q.oldestRead().done = true
	q.reads.pop()
	q.completeSends()
	q.kick()
}

// deliver delivers a Send to its Receive, which completes when the Reads that it must
// not overtake have been served (Receiver.Waits).
func (q *queuePair) deliver(c *Conn, f *Frame) error {
	d, err := c.framer.Deliver(f)
	if err != nil {
		return &breach{err}
	}
	in, r := &q.in, q.messages.at(q.in.recv)
	r.wc = verbs.WC{ByteLen: uint32(in.sendLen)}
	if in.loan != nil {
		in.loan.Cut(in.sendLen)
		r.wc.Loan, in.loan = in.loan, nil
	}
	r.solicited = d.Solicited
	if key := d.Key; d.Invalidate {
		if reason := q.PD.Invalidatable(key); reason != "" { // RFC 5042 §6.4.5
			return q.refuse(Report{Reason: ReasonAccess, Denial: reason, AtHand: true, Number: f.Number, Key: key},
				fmt.Sprintf("Send with invalidate of key 0x%08x: %s (RFC 5042 §6.4.5)", key, reason))
		}
		r.invalidate, r.wc.InvalidatedRKey = key, key
	}
	for i := q.resp.tail; i > q.resp.head; i-- {
		if c.framer.Waits(f, q.resp.at(i-1)) {
			r.barrier = i
			break
		}
	}
	r.done = true
	q.completeRecvs()
	return nil
}

// reported closes the connection because the peer has sent a report.
func (q *queuePair) reported(c *Conn, f *Frame) error {
	p, err := c.framer.Ended(f)
	switch {
	case err != nil:
		return &breach{err}
	case p.Goodbye:
		q.end(verbs.ErrPeerDisconnected, Report{})
		return verbs.ErrPeerDisconnected
	}
	what := ""
	for i := q.sq.head; i < q.sqNext; i++ {
		if r := q.sq.at(i); !r.done && r.Opcode != verbs.LocalInvalidate && p.Caused(r) {
			r.done, r.status = true, p.Status
			what = ", our " + r.describe()
			break
		}
	}
	err = fmt.Errorf("%w: queue pair %d: the peer ended the connection: %s (%s%s): %w",
		verbs.ErrConnectionBroken, q.Num(), p.What, p.Where, what, p.Status.Err())
	q.end(err, Report{})
	return err
}
