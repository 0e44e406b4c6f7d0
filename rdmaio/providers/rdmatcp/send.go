package rdmatcp

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Ready implements stream.Framer. Without a profile, a server learns the Connection ID from its
// client and sends nothing before (draft-williams-rdmatcp-00 §3.4, Connection ID; R344).
func (f *framer) Ready() bool { return f.stream.Known }

// Begin implements stream.Framer: it numbers the message and divides its payload.
func (f *framer) Begin(r *stream.Request) (impossible string) {
	if what := outOfRange(r); what != "" {
		return what
	}
	r.Number = f.number // draft-williams-rdmatcp-00 §3.4, Message Number; R345
	f.number++
	control := 4 * controlWords
	if r.Extra != nil {
		control = max(control, len(r.Extra.(*controlData).data))
	}
	f.segmentSize = perSegment(r.Total, typeOf(r.Opcode).MaxPayload()-control)
	return ""
}

// outOfRange returns why no peer could carry a request out, or "": offsets have 32 bits (R334).
func outOfRange(r *stream.Request) string {
	if r.Opcode != verbs.RDMAWrite && r.Opcode != verbs.RDMARead || r.Total == 0 {
		return ""
	}
	if r.Addr >= 1<<32 || r.Addr+uint64(r.Total) > 1<<32 {
		return fmt.Sprintf("range of %d bytes at %#x ends beyond 2^32, the largest size of a region (draft-williams-rdmatcp-00 §3.4 RDMA Buffer Offset)", r.Total, r.Addr)
	}
	return ""
}

// typeOf returns the type of a request's segments.
func typeOf(op verbs.Opcode) segment.Type {
	switch op {
	case verbs.RDMARead:
		return segment.ReadRequest
	case verbs.RDMAWrite:
		return segment.Write
	}
	return segment.Send
}

// perSegment splits a message of total bytes evenly into segments of at most most bytes.
// It returns the size of each but the last. draft-williams-rdmatcp-00 §2 recommends a segment in
// each TCP segment, but a socket does not show those (R335).
func perSegment(total, most int) int {
	if total <= most {
		return total
	}
	n := (total + most - 1) / most
	return min(((total+n-1)/n+63)&^63, most)
}

// Next implements stream.Framer.
func (f *framer) Next(r *stream.Request) (n int, last bool) {
	if r.Opcode == verbs.RDMARead {
		return 0, true
	}
	n = min(f.segmentSize, r.Total-r.Sent)
	return n, r.Sent+n == r.Total
}

// PutRequest implements stream.Framer.
func (f *framer) PutRequest(b []byte, r *stream.Request, n int, last bool) []byte {
	h := f.header(typeOf(r.Opcode), r.Number)
	h.Begin, h.End = r.Sent == 0, last
	var control []byte
	if r.Extra != nil {
		extra := r.Extra.(*controlData)
		h.Res, control = extra.res, extra.data
	}
	switch r.Opcode {
	case verbs.RDMARead:
		h.BufferID, h.Offset, h.RDMALength = r.RKey, uint32(r.Addr), uint32(r.Total)
	case verbs.RDMAWrite:
		// draft-williams-rdmatcp-00 §3.4, Order: Writes do not wait for each other (R5, R349), and
		// ours may also overtake our Reads. A Send has Order 0: it comes after them (R350).
		h.BufferID, h.Offset, h.RDMALength, h.Order = r.RKey, uint32(r.Addr)+uint32(r.Sent), uint32(r.Total), segment.NoOrder
	default:
		h.Offset = uint32(r.Sent)
		if f.raw == nil && r.Flags&verbs.SendSolicited != 0 {
			h.Res |= resSolicited
		}
		if r.Opcode == verbs.SendWithInvalidate {
			h.Res |= resControl
			control = binary.BigEndian.AppendUint32(f.words[:0], opInvalidate)
			control = binary.BigEndian.AppendUint32(control, r.Invalidate)
		}
	}
	if !h.Begin { // draft-williams-rdmatcp-00 §3.4, CLEN; R351
		control = nil
	}
	return putHeader(b, &h, control, n)
}

// NextResponse implements stream.Framer.
func (f *framer) NextResponse(r *stream.Response) (n int, last bool) {
	n = min(perSegment(r.Total, segment.ReadResponse.MaxPayload()), r.Total-r.Sent)
	return n, r.Sent+n == r.Total
}

// PutResponse implements stream.Framer.
func (f *framer) PutResponse(b []byte, r *stream.Response, n int, last bool) []byte {
	h := f.header(segment.ReadResponse, r.Number) // draft-williams-rdmatcp-00 §3.4; R346
	h.Order, h.Offset = segment.NoOrder, uint32(r.Sent)
	h.Begin, h.End = r.Sent == 0, last
	return putHeader(b, &h, nil, n)
}

// header returns a segment header with the fields that all segments of a message share.
func (f *framer) header(t segment.Type, number uint32) segment.Header {
	return segment.Header{Type: t, ConnID: f.stream.ConnID, Number: number}
}

// putHeader appends a header and control data, for n bytes of payload.
func putHeader(b []byte, h *segment.Header, control []byte, n int) []byte {
	h.CLEN = uint8(len(control) / 4)
	h.SetPayload(n)
	size := h.Type.HeaderSize()
	b = slices.Grow(b, size)[:len(b)+size]
	h.Put(b[len(b)-size:])
	return append(b, control...)
}
