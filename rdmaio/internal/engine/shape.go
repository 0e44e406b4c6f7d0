package engine

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// shape makes the header of a reply.
func (rs *responder) shape(r *Request) {
	r.hdr.Kind = header.KindMsg
	if r.Chunks == nil && r.Answer.Results == nil {
		return
	}
	var long verbs.SGE
	var data []verbs.SGE
	if res := r.Answer.Results; res != nil {
		long, data = res.Long, res.Data
		r.hdr.Reads = append(r.hdr.Reads, res.Reads...)
	}
	for i, c := range r.hdr.Writes { // RFC 8166 §4.3.2.1: one result each, in order; R77, R88
		var sge verbs.SGE
		if i < len(data) {
			sge = data[i]
		}
		rs.fill(r, c, sge)
	}
	rs.fill(r, r.hdr.Reply, long)
	if long.Length > 0 || len(r.hdr.Reads) > 0 && r.hdr.Reads[0].Position == 0 {
		r.hdr.Kind = header.KindNomsg // R98
		r.Answer.Payload = r.Answer.Payload[:0]
	}
}

// fill plans the Writes of one item into one chunk, and makes the lengths of the
// chunk those that the Reply returns.
func (rs *responder) fill(r *Request, c []header.Segment, sge verbs.SGE) {
	from := len(rs.fills)
	rs.fills = chunk.Fill(rs.fills, c, sge.Length, rs.cfg.Limits.Transfer)
	for _, f := range rs.fills[from:] {
		r.transfers = append(r.transfers, transfer{
			sge:    verbs.SGE{MR: sge.MR, Offset: sge.Offset + f.From, Length: int(f.Remote.Length)},
			remote: f.Remote,
		})
	}
	rs.fills = rs.fills[:from]
	rs.stats.BytesWritten += uint64(sge.Length)
}

// refuse answers with RDMA_ERROR, unless that happens too often (A19). A Call that the peer has
// given up does not count.
func (rs *responder) refuse(r *Request, e header.Error) {
	if !errors.Is(r.Refused, ErrGivenUp) && !rs.mayRefuse() {
		rs.lose(r)
		return
	}
	r.hdr.Kind = header.KindError
	r.hdr.Err = e
	r.Answer.Payload = r.Answer.Payload[:0]
	if r.Chunks != nil {
		r.transfers = r.transfers[:0]
	}
	if r.Answer.Results != nil {
		r.Answer.Reads = r.Answer.Reads[:0]
	}
	r.hdr.Reads = r.hdr.Reads[:0]
	rs.wait(r, queued)
}
