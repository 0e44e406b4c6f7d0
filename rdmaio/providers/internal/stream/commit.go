package stream

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// commit carries out a frame whose checksum was checked: until then, nothing was reported. q.mu
// must be held.
func (rd *reader) commit(c *Conn, f *Frame) error {
	switch {
	case f.Kind == KindReadRequest:
		rd.queueResponse(f)
	case !f.End, f.Kind == KindWrite, f.Kind == KindNone:
		// The receiver of a Write is not notified (R6).
	case f.Kind == KindReadResponse:
		rd.readDone()
	case f.Kind == KindReport:
		return rd.reported(c, f)
	default:
		return rd.deliver(c, f)
	}
	return nil
}

// queueResponse queues the response to a Read of the peer.
func (rd *reader) queueResponse(f *Frame) {
	r := rd.q.resp.next()
	*r = Response{Number: f.Number, Sink: f.Sink, SinkAddr: f.SinkAddr, Total: f.Length}
	if r.Total > 0 {
		r.source = rd.in.read
	}
	rd.q.resp.push()
	rd.s.kick()
}

// readDone completes our oldest Read. Requests that waited for it may then be sent.
func (rd *reader) readDone() {
	rd.q.oldestRead().done = true
	rd.q.reads.pop()
	rd.q.completeSends()
	rd.s.kick()
}

// deliver delivers a Send to its Receive, which completes when the Reads that it must
// not overtake have been served (Receiver.Waits).
func (rd *reader) deliver(c *Conn, f *Frame) error {
	d, err := c.framer.Deliver(f)
	if err != nil {
		return &breach{err}
	}
	in, r := &rd.in, rd.q.messages.at(rd.in.recv)
	r.wc = verbs.WC{ByteLen: uint32(in.sendLen)}
	if in.loan != nil {
		in.loan.Cut(in.sendLen)
		r.wc.Loan, in.loan = in.loan, nil
	}
	r.solicited = d.Solicited
	if key := d.Key; d.Invalidate {
		if reason := rd.q.PD.Invalidatable(key); reason != "" { // RFC 5042 §6.4.5
			return rd.q.refuse(Report{Reason: ReasonAccess, Denial: reason, AtHand: true, Number: f.Number, Key: key},
				fmt.Sprintf("Send with invalidate of key 0x%08x: %s (RFC 5042 §6.4.5)", key, reason))
		}
		r.invalidate, r.wc.InvalidatedRKey = key, key
	}
	for i := rd.q.resp.tail; i > rd.q.resp.head; i-- {
		if c.framer.Waits(f, rd.q.resp.at(i-1)) {
			r.barrier = i
			break
		}
	}
	r.done = true
	rd.q.completeRecvs()
	return nil
}

// reported closes the connection because the peer has sent a report.
func (rd *reader) reported(c *Conn, f *Frame) error {
	p, err := c.framer.Ended(f)
	switch {
	case err != nil:
		return &breach{err}
	case p.Goodbye:
		rd.q.end(verbs.ErrPeerDisconnected, Report{})
		return verbs.ErrPeerDisconnected
	}
	what := ""
	for i := rd.q.sq.head; i < rd.s.sqNext; i++ {
		if r := rd.q.sq.at(i); !r.done && r.Opcode != verbs.LocalInvalidate && p.Caused(r) {
			r.done, r.status = true, p.Status
			what = ", our " + r.describe()
			break
		}
	}
	err = fmt.Errorf("%w: queue pair %d: the peer closed the connection: %s (%s%s): %w",
		verbs.ErrConnectionBroken, rd.q.Num(), p.What, p.Where, what, p.Status.Err())
	rd.q.end(err, Report{})
	return err
}
