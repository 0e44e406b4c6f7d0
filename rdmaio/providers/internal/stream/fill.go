package stream

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// step is the result of an attempt to add a frame to the batch.
type step uint8

const (
	stepNone        step = iota // no frame can be sent now
	stepAdded                   // a frame was added, or a request carried out
	stepNeedsWriter             // the next frame is direct, which only the writer sends
)

// fill adds the frames that can be sent now to the batch, of requests and responses in turn. If
// stagedOnly is set, it leaves direct payload to the writer, and reports whether there is some.
// q.mu must be held.
func (q *queuePair) fill(c *Conn, stagedOnly bool) (more bool) {
	shape := &q.dev.cfg.Shape
	q.out.first = q.sqNext
	if q.nudgeDue && !q.insideRequest() && !q.insideResponse() {
		q.out.arena = append(q.out.arena, q.nudge...)
		q.nudge, q.nudgeDue = nil, false
	}
	for !q.out.full(shape) && !q.ending {
		a, b := stepNone, stepNone
		if !shape.Whole || !q.insideResponse() {
			a = q.fillRequest(c, stagedOnly)
		}
		if !q.out.full(shape) && !q.ending && (!shape.Whole || !q.insideRequest()) {
			b = q.fillResponse(c, stagedOnly)
		}
		if a == stepNeedsWriter || b == stepNeedsWriter {
			more = true
		}
		if a != stepAdded && b != stepAdded {
			break
		}
	}
	q.out.requests, q.out.responses = q.sqNext, q.rspNext
	return more
}

// insideRequest reports whether some frames of request sqNext were sent, but not the last.
func (q *queuePair) insideRequest() bool { return q.begun && q.sqSent > 0 }

// insideResponse reports the same of response rspNext.
func (q *queuePair) insideResponse() bool {
	return q.rspNext < q.resp.tail && q.resp.at(q.rspNext).Sent > 0
}

// fillRequest adds the next frame of request sqNext.
func (q *queuePair) fillRequest(c *Conn, stagedOnly bool) step {
	if q.sqNext == q.sq.tail {
		return stepNone
	}
	r := q.sq.at(q.sqNext)
	if !q.begun {
		switch {
		case r.Flags&verbs.SendFence != 0 && q.reads.len() > 0:
			return stepNone
		case r.Opcode == verbs.RDMARead && q.reads.len() >= q.depth: // R14
			return stepNone
		case r.Opcode == verbs.LocalInvalidate:
			return q.localInvalidate(r)
		}
		if what := c.framer.Begin(r); what != "" {
			return q.failRequest(r, verbs.StatusRemoteAccess, what)
		}
		q.begun, q.sqSent = true, 0
	}
	n, last := c.framer.Next(r)
	if n > q.dev.cfg.Shape.StageSend && stagedOnly {
		return stepNeedsWriter
	}
	var source soft.List
	if r.Opcode != verbs.RDMARead {
		if source = r.SGL; !source.Pin() {
			return q.failRequest(r, verbs.StatusLocalProtection, "local region was invalidated after the post")
		}
	}
	start := len(q.out.arena)
	q.out.arena = c.framer.PutRequest(q.out.arena, r, n, last)
	q.addPinned(start, source, r.Sent, n)
	r.Sent += n
	if q.sqSent = r.Sent; !last {
		return stepAdded
	}
	if r.Opcode == verbs.RDMARead {
		q.reads.next()
		*q.reads.at(q.reads.push()) = q.sqNext
	}
	q.begun = false
	q.sqNext++
	return stepAdded
}

// addPinned adds the frame whose header begins at start, with payload from a pinned list. It unpins
// the list, or leaves that to the batch.
func (q *queuePair) addPinned(start int, source soft.List, off, n int) {
	if !q.out.add(start, source, off, n, q.dev.cfg.Shape.StageSend) {
		source.Unpin()
		return
	}
	for i := range source {
		q.out.pins = append(q.out.pins, source[i].Region)
	}
}

// localInvalidate runs a LocalInvalidate request.
func (q *queuePair) localInvalidate(r *Request) step {
	if len(q.out.pins) > 0 { // the region may be one of these: write the batch first
		return stepNone
	}
	if !q.PD.InvalidateKey(r.Invalidate) {
		return q.failRequest(r, verbs.StatusLocalProtection, fmt.Sprintf("local invalidate of key 0x%08x, which names no valid region of the domain", r.Invalidate))
	}
	r.done = true
	q.sqNext++
	q.completeSends()
	return stepAdded
}

// failRequest breaks the connection because a request cannot be carried out. It first waits until
// the batch before it was sent.
func (q *queuePair) failRequest(r *Request, status verbs.Status, what string) step {
	if !q.out.empty() {
		return stepNone
	}
	r.done, r.status = true, status
	q.end(fmt.Errorf("%w: request %#x of queue pair %d: %v: %s: %w", verbs.ErrConnectionBroken, r.WRID, q.Num(), r.Opcode, what, status.Err()), Report{Reason: ReasonFailed})
	return stepNone
}

// fillResponse adds the next frame of response rspNext. Responses are sent in the
// order of their requests.
func (q *queuePair) fillResponse(c *Conn, stagedOnly bool) step {
	if q.rspNext == q.resp.tail {
		return stepNone
	}
	r := q.resp.at(q.rspNext)
	n, last := c.framer.NextResponse(r)
	if n > q.dev.cfg.Shape.StageSend && stagedOnly {
		return stepNeedsWriter
	}
	var source soft.List
	if r.Total > 0 {
		if source = r.source[:]; !source.Pin() {
			if q.out.empty() {
				q.refuse(Report{Reason: ReasonAccess, Denial: soft.Invalidated, Number: r.Number},
					"the region that a Read names was invalidated before all of it was sent")
			}
			return stepNone
		}
	}
	start := len(q.out.arena)
	q.out.arena = c.framer.PutResponse(q.out.arena, r, n, last)
	q.addPinned(start, source, r.Sent, n)
	if r.Sent += n; last {
		q.rspNext++
	}
	return stepAdded
}
