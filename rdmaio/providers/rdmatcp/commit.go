package rdmatcp

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// commit carries out a segment whose CRC was checked: until then, nothing of it was
// reported. mu is held.
func (q *queuePair) commit(h *segment.Header) error {
	switch {
	case h.Type == segment.ReadRequest:
		q.queueResponse(h)
	case !h.End, h.Type == segment.Write:
		// The receiver of a Write is not notified (R6).
	case h.Type == segment.ReadResponse:
		q.readDone()
	case q.in.report:
		return q.reported()
	default:
		return q.deliver(h)
	}
	return nil
}

// queueResponse queues the response to a Read of the peer.
func (q *queuePair) queueResponse(h *segment.Header) {
	r := q.resp.next()
	*r = response{number: h.Number, total: int(h.RDMALength)}
	if r.total > 0 {
		r.source = q.in.write
	}
	q.resp.push()
	q.kick()
}

// readDone completes our oldest Read. Requests that waited for it may then be sent.
func (q *queuePair) readDone() {
	q.sq.at(*q.reads.at(q.reads.head)).done = true
	q.reads.pop()
	q.completeSends()
	q.kick()
}

// deliver delivers a Send to its Receive, which completes when the Reads that it must
// not overtake have been served (§3.4 Order).
func (q *queuePair) deliver(h *segment.Header) error {
	in, r := &q.in, q.rq.at(q.in.recv)
	r.wc = verbs.WC{ByteLen: uint32(in.sendLen)}
	if q.dev.cfg.Raw == nil {
		r.solicited = in.res&resSolicited != 0
		if in.res&resControl != 0 {
			if op := binary.BigEndian.Uint32(in.control[:]); in.controlLen < 4*controlWords || op != opInvalidate {
				return q.refuse(reasonFormat, h.Number, 0, fmt.Sprintf("Send with %d bytes of control data that begin with operation %#x, want at least %d bytes and operation %#x: %v",
					in.controlLen, op, 4*controlWords, opInvalidate, errProfile))
			}
			key := binary.BigEndian.Uint32(in.control[4:])
			if reason := q.PD.Invalidatable(key); reason != "" { // RFC 5042 §6.4.5
				return q.refuse(reasonAccess, h.Number, key, fmt.Sprintf("Send with invalidate of key 0x%08x: %s (RFC 5042 §6.4.5)", key, reason))
			}
			r.invalidate, r.wc.InvalidatedRKey = key, key
		}
	}
	for i := q.resp.tail; i > q.resp.head; i-- {
		if segment.Waits(h.Number, h.Order, q.resp.at(i-1).number) {
			r.barrier = i
			break
		}
	}
	r.done = true
	q.completeRecvs()
	return nil
}

// reported ends the connection because of a report of the peer.
func (q *queuePair) reported() error {
	if q.in.controlLen < 4*reportWords {
		return q.refuse(reasonFormat, 0, 0, fmt.Sprintf("report of %d bytes, want at least %d: %v", q.in.controlLen, 4*reportWords, errProfile))
	}
	p := decodeReport(q.in.control[:])
	if p.reason == reasonGoodbye {
		q.end(verbs.ErrPeerDisconnected, report{})
		return verbs.ErrPeerDisconnected
	}
	status, what := p.reason.status(), ""
	for i := q.sq.head; i < q.sqNext; i++ {
		if r := q.sq.at(i); !r.done && r.number == p.number && r.Opcode != verbs.LocalInvalidate {
			r.done, r.status = true, status
			what = ", our " + r.describe()
			break
		}
	}
	err := fmt.Errorf("%w: queue pair %d: the peer ended the connection: %v (message %#x, buffer 0x%08x%s): %w",
		verbs.ErrConnectionBroken, q.Num(), p.reason, p.number, p.buffer, what, status.Err())
	q.end(err, report{})
	return err
}
