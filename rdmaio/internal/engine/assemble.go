package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// assemble fills a new Assembly of a message with chunks. It copies inline bytes and clears pads
// now, and queues RDMA Reads for the rest. err is the reason why there is no Assembly, or nil.
func (rs *responder) assemble(r *Request, err error) {
	switch {
	case !rs.open:
		rs.lose(r)
		return
	case err != nil && r.reply != nil:
		rs.replyRead(r, err)
		return
	case err != nil: // R125: the peer gets an error
		r.Refused = err
		rs.refuse(r, rs.version.Error(header.Error{Code: header.ErrSystem}))
		return
	}
	r.pulling.reads = 0
	for i := range r.plan.Pieces {
		p := &r.plan.Pieces[i]
		at, end := r.part(p)
		switch {
		case at >= end:
		case p.Source == chunk.FromInline:
			from := p.From + at - p.At
			copy(r.Assembly.Bytes[at:end], r.hdr.Payload[from:from+end-at])
		case p.Source == chunk.FromPad:
			clear(r.Assembly.Bytes[at:end]) // R314
		default:
			r.pulling.reads++
		}
	}
	if r.reply != nil && r.assemblyEnd() == r.AssemblySize { // it will not be answered
		rs.repost(r)
	}
	if r.pulling.reads == 0 { // chunks of no bytes (T40)
		rs.filled(r)
		return
	}
	r.pulling.unread = r.pulling.reads
	rs.deferReads(r)
	rs.admit()
}

// unreadable refuses a Call, or fails a Reply with read chunks, that needs RDMA Reads when none are
// allowed.
func (rs *responder) unreadable(r *Request, f *header.Fault) {
	if r.reply != nil {
		rs.replyRead(r, f)
		return
	}
	rs.fault(f)
	r.Refused = f
	rs.refuse(r, rs.version.Refusal(f))
}

// assemblyEnd returns how many bytes of the message fit into Assembly.
func (r *Request) assemblyEnd() int { return min(len(r.Assembly.Bytes), r.AssemblySize) }

// part returns the range of the message that a piece fills in Assembly now. It is empty if at >=
// end.
func (r *Request) part(p *chunk.Piece) (at, end int) {
	return max(p.At, r.AssemblyFilled), min(p.At+p.Len, r.assemblyEnd())
}

// admit queues the next batches of RDMA Reads, up to the negotiated number in progress
// (R137, R297). A batch fits in the send queue.
func (rs *responder) admit() {
	for rs.pulls.len() > 0 && !rs.terms.ReadsUnknown {
		r := *rs.pulls.at(0)
		if f := rs.checkReadDepth(r); f != nil { // the terms have changed since it came
			rs.unreadable(rs.pulls.pop(), f)
			continue
		}
		n := r.pulling.queue(rs.cfg.SendWRs, rs.terms.Reads > 0, rs.terms.Reads-rs.reading)
		if n <= 0 {
			return
		}
		rs.reading += n
		rs.wait(rs.pulls.pop(), readQueued)
	}
}

// deferReads lets r wait until more RDMA Reads are allowed.
func (rs *responder) deferReads(r *Request) {
	rs.to(r, readDeferred)
	rs.pulls.push(r)
}

// pull posts a batch of RDMA Reads.
func (rs *responder) pull(r *Request) {
	rs.to(r, reading)
	p := &r.pulling
	id := rs.sends.begin(p.batch, nil, r)
	skip, left := p.reads-p.unread, p.batch
	for i := range r.plan.Pieces {
		piece := &r.plan.Pieces[i]
		at, end := r.part(piece)
		switch {
		case piece.Source != chunk.FromPeer || at >= end:
			continue
		case skip > 0:
			skip--
			continue
		case left == 0:
			continue
		}
		wr := verbs.SendWR{WRID: id, Opcode: verbs.RDMARead, RKey: piece.Remote.Handle, RemoteAddr: piece.Remote.Offset + uint64(at-piece.At)}
		if left--; left == 0 {
			wr.Flags = verbs.SendSignaled
		}
		rs.sends.add(wr, verbs.SGE{MR: r.Assembly.MR, Offset: r.Assembly.Offset + at, Length: end - at})
		p.size += end - at
	}
	p.unread -= p.batch
}

// read handles a completed batch of RDMA Reads.
func (rs *responder) read(r *Request) {
	size := r.pulling.read()
	rs.stats.BytesRead += uint64(size)
	rs.delivered += uint64(size)
	rs.reading -= r.pulling.batch
	if r.pulling.unread > 0 {
		rs.deferReads(r)
	}
	rs.admit()
	if r.pulling.unread == 0 {
		rs.filled(r)
	}
}

// filled completes the message if Assembly has all of it, or asks for a longer Assembly.
func (rs *responder) filled(r *Request) {
	if r.AssemblyFilled = r.assemblyEnd(); r.AssemblyFilled < r.AssemblySize {
		rs.to(r, assembling)
		rs.eff.Assemble = append(rs.eff.Assemble, r)
		return
	}
	r.Message, r.Placed = r.Assembly.Bytes[:r.plan.Size:r.plan.Size], r.plan.Placed
	rs.complete(r)
}

// complete delivers an assembled message. Its head, which may have come by chunk, is checked now,
// in our copy only (T84).
func (rs *responder) complete(r *Request) {
	if r.reply != nil {
		rs.replyRead(r, nil)
		return
	}
	if f := head(r.Message, r.XID, header.Call); f != nil {
		rs.fault(f)
		r.Refused = f
		rs.refuse(r, rs.version.Refusal(f))
		return
	}
	rs.to(r, delivered) // RFC 8166 §3.4.5.1: all Reads are over, none follows the Reply; R72, R73
	rs.eff.Deliver = append(rs.eff.Deliver, r)
}
