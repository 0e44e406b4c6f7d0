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
func (s *sender) fill(c *Conn, stagedOnly bool) (more bool) {
	shape := &s.q.dev.cfg.Shape
	s.out.first = s.sqNext
	if s.nudgeDue && !s.insideRequest() && !s.insideResponse() {
		s.out.arena = append(s.out.arena, s.nudge...)
		s.nudge, s.nudgeDue = nil, false
	}
	for !s.out.full(shape) && !s.q.ending {
		a, b := stepNone, stepNone
		if !shape.Whole || !s.insideResponse() {
			a = s.fillRequest(c, stagedOnly)
		}
		if !s.out.full(shape) && !s.q.ending && (!shape.Whole || !s.insideRequest()) {
			b = s.fillResponse(c, stagedOnly)
		}
		if a == stepNeedsWriter || b == stepNeedsWriter {
			more = true
		}
		if a != stepAdded && b != stepAdded {
			break
		}
	}
	s.out.requests, s.out.responses = s.sqNext, s.rspNext
	return more
}

// insideRequest reports whether some frames of request sqNext were sent, but not the last.
func (s *sender) insideRequest() bool { return s.begun && s.sqSent > 0 }

// insideResponse reports the same of response rspNext.
func (s *sender) insideResponse() bool {
	return s.rspNext < s.q.resp.tail && s.q.resp.at(s.rspNext).Sent > 0
}

// fillRequest adds the next frame of request sqNext.
func (s *sender) fillRequest(c *Conn, stagedOnly bool) step {
	if s.sqNext == s.q.sq.tail {
		return stepNone
	}
	r := s.q.sq.at(s.sqNext)
	if !s.begun {
		switch {
		case r.Flags&verbs.SendFence != 0 && s.q.reads.len() > 0:
			return stepNone
		case r.Opcode == verbs.RDMARead && s.q.reads.len() >= s.q.depth: // R14
			return stepNone
		case r.Opcode == verbs.LocalInvalidate:
			return s.localInvalidate(r)
		}
		if what := c.framer.Begin(r); what != "" {
			return s.failRequest(r, verbs.StatusRemoteAccess, what)
		}
		s.begun, s.sqSent = true, 0
	}
	n, last := c.framer.Next(r)
	if n > s.q.dev.cfg.Shape.StageSend && stagedOnly {
		return stepNeedsWriter
	}
	var source soft.List
	if r.Opcode != verbs.RDMARead {
		if source = r.SGL; !source.Pin() {
			return s.failRequest(r, verbs.StatusLocalProtection, "local region was invalidated after the post")
		}
	}
	start := len(s.out.arena)
	s.out.arena = c.framer.PutRequest(s.out.arena, r, n, last)
	s.addPinned(start, source, r.Sent, n)
	r.Sent += n
	if s.sqSent = r.Sent; !last {
		return stepAdded
	}
	if r.Opcode == verbs.RDMARead {
		s.q.reads.next()
		*s.q.reads.at(s.q.reads.push()) = s.sqNext
	}
	s.begun = false
	s.sqNext++
	return stepAdded
}

// addPinned adds the frame whose header begins at start, with payload from a pinned list. It unpins
// the list, or leaves that to the batch.
func (s *sender) addPinned(start int, source soft.List, off, n int) {
	if !s.out.add(start, source, off, n, s.q.dev.cfg.Shape.StageSend) {
		source.Unpin()
		return
	}
	for i := range source {
		s.out.pins = append(s.out.pins, source[i].Region)
	}
}

// localInvalidate runs a LocalInvalidate request.
func (s *sender) localInvalidate(r *Request) step {
	if len(s.out.pins) > 0 { // the region may be one of these: write the batch first
		return stepNone
	}
	if !s.q.PD.InvalidateKey(r.Invalidate) {
		return s.failRequest(r, verbs.StatusLocalProtection, fmt.Sprintf("local invalidate of key 0x%08x, which names no valid region of the domain", r.Invalidate))
	}
	r.done = true
	s.sqNext++
	s.q.completeSends()
	return stepAdded
}

// failRequest breaks the connection because a request cannot be carried out. It first waits until
// the batch before it was sent.
func (s *sender) failRequest(r *Request, status verbs.Status, what string) step {
	if !s.out.empty() {
		return stepNone
	}
	r.done, r.status = true, status
	s.q.end(fmt.Errorf("%w: request %#x of queue pair %d: %v: %s: %w", verbs.ErrConnectionBroken, r.WRID, s.q.Num(), r.Opcode, what, status.Err()), Report{Reason: ReasonFailed})
	return stepNone
}

// fillResponse adds the next frame of response rspNext. Responses are sent in the
// order of their requests.
func (s *sender) fillResponse(c *Conn, stagedOnly bool) step {
	if s.rspNext == s.q.resp.tail {
		return stepNone
	}
	r := s.q.resp.at(s.rspNext)
	n, last := c.framer.NextResponse(r)
	if n > s.q.dev.cfg.Shape.StageSend && stagedOnly {
		return stepNeedsWriter
	}
	var source soft.List
	if r.Total > 0 {
		if source = r.source[:]; !source.Pin() {
			if s.out.empty() {
				s.q.refuse(Report{Reason: ReasonAccess, Denial: soft.Invalidated, Number: r.Number},
					"the region that a Read names was invalidated before all of it was sent")
			}
			return stepNone
		}
	}
	start := len(s.out.arena)
	s.out.arena = c.framer.PutResponse(s.out.arena, r, n, last)
	s.addPinned(start, source, r.Sent, n)
	if r.Sent += n; last {
		s.rspNext++
	}
	return stepAdded
}
