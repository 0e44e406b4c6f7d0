package iwarp

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Ready implements stream.Sender. A responder must not send before the initiator's first FPDU
// (RFC 5044 §7.1.2 rule 4).
func (f *framer) Ready() bool { return f.ready }

// Begin implements stream.Sender. A Write has no number.
func (f *framer) Begin(r *stream.Request) (impossible string) {
	switch r.Opcode {
	case verbs.Send, verbs.SendWithInvalidate:
		r.Number = f.sends.Next()
		return ""
	}
	if end := r.Addr + uint64(r.Total); r.Total > 0 && end < r.Addr && end != 0 {
		return fmt.Sprintf("range of %d bytes at %#x ends beyond 2^64 (RFC 5041 §7.1)", r.Total, r.Addr)
	}
	if r.Opcode == verbs.RDMARead {
		r.Number = f.reads.Next()
	}
	return ""
}

// next returns the payload of the next FPDU. Its message has total bytes, and sent were sent. The
// payload follows a DDP header of this size. All but a message's last have a multiple of 4 bytes,
// so that there is no padding between them: siw misreads it if it comes in two TCP segments.
func (f *framer) next(header, total, sent int) (n int, last bool) {
	n = min((f.mulpdu-header)&^3, total-sent)
	return n, sent+n == total
}

// Next implements stream.Sender.
func (f *framer) Next(r *stream.Request) (n int, last bool) {
	switch r.Opcode {
	case verbs.RDMARead:
		return 0, true
	case verbs.RDMAWrite:
		return f.next(ddp.TaggedSize, r.Total, r.Sent)
	}
	return f.next(ddp.UntaggedSize, r.Total, r.Sent)
}

// PutRequest implements stream.Sender.
func (f *framer) PutRequest(b []byte, r *stream.Request, n int, last bool) []byte {
	switch r.Opcode {
	case verbs.RDMARead:
		return f.putReadRequest(b, r)
	case verbs.RDMAWrite:
		h := ddp.Header{Tagged: true, Last: last, ULP: rdmap.Write.Control(), STag: r.RKey, TO: r.Addr + uint64(r.Sent)}
		if r.Total == 0 {
			h.STag = f.unchecked(r.RKey)
		}
		return put(b, &h, n)
	}
	op := rdmap.Send
	solicited := r.Flags&verbs.SendSolicited != 0
	h := ddp.Header{Last: last, MSN: r.Number, MO: uint32(r.Sent)}
	switch {
	case r.Opcode == verbs.SendWithInvalidate && solicited:
		op, h.ULP2 = rdmap.SendSEInvalidate, r.Invalidate
	case r.Opcode == verbs.SendWithInvalidate:
		op, h.ULP2 = rdmap.SendInvalidate, r.Invalidate
	case solicited:
		op = rdmap.SendSE
	}
	h.ULP = op.Control()
	return put(b, &h, n)
}

// putReadRequest appends a Read Request. Its sink is not a region: sinkAt recognizes the response.
func (f *framer) putReadRequest(b []byte, r *stream.Request) []byte {
	sink := f.sinkAt(r)
	body := rdmap.ReadRequest{SinkSTag: sink.STag, SinkTO: sink.TO, Size: sink.Size, SourceSTag: r.RKey, SourceTO: r.Addr}
	if r.Total == 0 {
		body.SinkSTag, body.SourceSTag = f.unchecked(0), f.unchecked(r.RKey)
	}
	h := ddp.Header{Last: true, ULP: rdmap.ReadRequestOp.Control(), QN: rdmap.QueueRead, MSN: r.Number}
	return putRead(put(b, &h, rdmap.ReadRequestSize), &body)
}

// sinkAt returns the sink of a Read: an STag for all Reads of the connection, and the offset of the
// target in its region.
func (f *framer) sinkAt(r *stream.Request) rdmap.Sink {
	s := rdmap.Sink{STag: f.sink, Size: uint32(r.Total)}
	if len(r.SGL) > 0 {
		s.TO = uint64(r.SGL[0].Off)
	}
	return s
}

// NextResponse implements stream.Sender.
func (f *framer) NextResponse(r *stream.Response) (n int, last bool) {
	return f.next(ddp.TaggedSize, r.Total, r.Sent)
}

// PutResponse implements stream.Sender.
func (f *framer) PutResponse(b []byte, r *stream.Response, n int, last bool) []byte {
	h := ddp.Header{Tagged: true, Last: last, ULP: rdmap.ReadResponse.Control(), STag: r.Sink, TO: r.SinkAddr + uint64(r.Sent)}
	return put(b, &h, n)
}
