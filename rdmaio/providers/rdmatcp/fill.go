package rdmatcp

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// step is the result of an attempt to add a segment to the batch.
type step uint8

const (
	stepNone        step = iota // no segment can be sent now
	stepAdded                   // a segment was added, or a request carried out
	stepNeedsWriter             // the next segment is direct, which only the writer sends
)

// fill adds the segments that can be sent now to the batch, from the two groups in turn
// (§4). If stagedOnly is set, it leaves direct payload to the writer, and reports
// whether there is some. mu is held.
func (q *queuePair) fill(w *wire, stagedOnly bool) (more bool) {
	q.out.first = q.sqNext
	for !q.out.full() && !q.ending {
		a := q.fillRequest(w, stagedOnly)
		b := stepNone
		if !q.out.full() && !q.ending {
			b = q.fillResponse(w, stagedOnly)
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

// fillRequest adds the next segment of request sqNext.
func (q *queuePair) fillRequest(w *wire, stagedOnly bool) step {
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
		if what := r.impossible(); what != "" {
			return q.failRequest(r, verbs.StatusRemoteAccess, what)
		}
		q.begun, q.sqSent = true, 0
		r.number = w.number
		w.number++
	}
	h, control := w.header(segment.Send, r.number), []byte(nil)
	h.Begin = q.sqSent == 0
	h.Offset = uint32(q.sqSent)
	if b := r.control; b != nil {
		h.Res = b.res
		if h.Begin {
			control = b.data
		}
	}
	switch r.Opcode {
	case verbs.RDMARead:
		h.Type, h.End, h.BufferID, h.Offset, h.RDMALength = segment.ReadRequest, true, r.RKey, uint32(r.Addr), uint32(r.Total)
		q.out.add(&h, control, nil, 0, 0)
		q.reads.next()
		*q.reads.at(q.reads.push()) = q.sqNext
		return q.nextRequest()
	case verbs.RDMAWrite:
		// Order: R5, Writes do not wait for each other; ours may also overtake our Reads.
		h.Type, h.BufferID, h.Offset, h.RDMALength, h.Order = segment.Write, r.RKey, uint32(r.Addr)+uint32(q.sqSent), uint32(r.Total), segment.NoOrder
	default:
		if q.dev.cfg.Raw == nil && r.Flags&verbs.SendSolicited != 0 {
			h.Res |= resSolicited
		}
		if r.Opcode == verbs.SendWithInvalidate {
			h.Res |= resControl
			if h.Begin {
				control = binary.BigEndian.AppendUint32(q.control[:0], opInvalidate)
				control = binary.BigEndian.AppendUint32(control, r.Invalidate)
			}
		}
	}
	if h.Begin {
		q.segmentSize = perSegment(r.Total, h.Type.MaxPayload()-max(4*controlWords, len(control)))
	}
	n := min(q.segmentSize, r.Total-q.sqSent)
	h.End = q.sqSent+n == r.Total
	if n > StageLimit && stagedOnly {
		return stepNeedsWriter
	}
	if !r.SGL.Pin() {
		return q.failRequest(r, verbs.StatusLocalProtection, "local region was invalidated after the post")
	}
	q.addPinned(&h, control, r.SGL, q.sqSent, n)
	q.sqSent += n
	if h.End {
		return q.nextRequest()
	}
	return stepAdded
}

// addPinned adds a segment with payload from a pinned list. It unpins the list, or
// leaves that to the batch.
func (q *queuePair) addPinned(h *segment.Header, control []byte, sgl soft.List, off, n int) {
	if !q.out.add(h, control, sgl, off, n) {
		sgl.Unpin()
		return
	}
	for i := range sgl {
		q.out.pins = append(q.out.pins, sgl[i].Region)
	}
}

// nextRequest moves on from a request whose last segment is in the batch.
func (q *queuePair) nextRequest() step {
	q.begun = false
	q.sqNext++
	return stepAdded
}

// impossible returns why no peer could carry a request out, or "": offsets have 32 bits.
func (r *request) impossible() string {
	if r.Opcode != verbs.RDMAWrite && r.Opcode != verbs.RDMARead || r.Total == 0 {
		return ""
	}
	if r.Addr >= 1<<32 || r.Addr+uint64(r.Total) > 1<<32 {
		return fmt.Sprintf("range of %d bytes at %#x ends beyond 2^32, the largest size of a region (draft-williams-rdmatcp-00 §3.4 RDMA Buffer Offset)", r.Total, r.Addr)
	}
	return ""
}

// perSegment splits a message of total bytes evenly into segments of at most most bytes.
// It returns the size of each but the last.
func perSegment(total, most int) int {
	if total <= most {
		return total
	}
	n := (total + most - 1) / most
	return min(((total+n-1)/n+63)&^63, most)
}

// localInvalidate runs a LocalInvalidate request.
func (q *queuePair) localInvalidate(r *request) step {
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

// failRequest ends the connection because of a request that cannot be carried out. It
// first waits until the batch before it was sent.
func (q *queuePair) failRequest(r *request, status verbs.Status, what string) step {
	if !q.out.empty() {
		return stepNone
	}
	r.done, r.status = true, status
	q.end(fmt.Errorf("%w: request %#x of queue pair %d: %v: %s: %w", verbs.ErrConnectionBroken, r.WRID, q.Num(), r.Opcode, what, status.Err()), report{reason: reasonFailed})
	return stepNone
}

// fillResponse adds the next segment of response rspNext. Responses are sent in the
// order of their requests.
func (q *queuePair) fillResponse(w *wire, stagedOnly bool) step {
	if q.rspNext == q.resp.tail {
		return stepNone
	}
	r := q.resp.at(q.rspNext)
	h := w.header(segment.ReadResponse, r.number)
	h.Order = segment.NoOrder
	h.Begin, h.Offset = r.sent == 0, uint32(r.sent)
	n := min(perSegment(r.total, h.Type.MaxPayload()), r.total-r.sent)
	h.End = r.sent+n == r.total
	if n > StageLimit && stagedOnly {
		return stepNeedsWriter
	}
	var source soft.List
	if r.total > 0 {
		if source = r.source[:]; !source.Pin() {
			if q.out.empty() {
				q.refuse(reasonAccess, r.number, 0, "the region that a Read names was invalidated before all of it was sent")
			}
			return stepNone
		}
	}
	q.addPinned(&h, nil, source, r.sent, n)
	if r.sent += n; h.End {
		q.rspNext++
	}
	return stepAdded
}
