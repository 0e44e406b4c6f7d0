package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// assemble fills a new Assembly of a message with chunks. It copies inline bytes and clears pads
// now, and queues RDMA Reads for the rest. err is the reason why there is no Assembly, or nil.
func (e *Engine) assemble(r *Request, err error) {
	switch {
	case !e.open:
		e.lose(r)
		return
	case err != nil && r.reply != nil:
		e.replyRead(r, err)
		return
	case err != nil: // R125: the peer gets an error
		r.Refused = err
		e.refuse(r, header.ErrChunk)
		return
	}
	r.reads = 0
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
			r.reads++
		}
	}
	if r.reply != nil && r.assemblyEnd() == r.AssemblySize { // it will not be answered
		e.postRecv(r.recv)
		r.recv = none
	}
	if r.reads == 0 { // chunks of no bytes (T40)
		e.filled(r)
		return
	}
	r.unread = r.reads
	e.deferReads(r)
	e.admit()
}

// unreadable refuses a Call, or ends a Reply with read chunks, that needs RDMA Reads when none are
// allowed.
func (e *Engine) unreadable(r *Request, f *header.Fault) {
	if r.reply != nil {
		e.replyRead(r, f)
		return
	}
	e.fault(f)
	r.Refused = f
	e.refuse(r, header.ErrChunk)
}

// assemblyEnd returns the number of bytes of the message that fit into Assembly.
func (r *Request) assemblyEnd() int { return min(len(r.Assembly.Bytes), r.AssemblySize) }

// part returns the range of the message that a piece fills in Assembly now. It is empty if at >=
// end.
func (r *Request) part(p *chunk.Piece) (at, end int) {
	return max(p.At, r.AssemblyFilled), min(p.At+p.Len, r.assemblyEnd())
}

// admit queues the next batches of RDMA Reads, up to the negotiated number of them in progress
// (R137, R297).
func (e *Engine) admit() {
	for e.pulls.len() > 0 && !e.terms.ReadsUnknown {
		r := *e.pulls.at(0)
		if f := e.checkReadDepth(r); f != nil { // the terms have changed since it came
			e.unreadable(e.pulls.pop(), f)
			continue
		}
		r.batch = r.unread
		if e.terms.Reads > 0 {
			r.batch = min(r.batch, e.terms.Reads-e.reading)
		}
		if r.batch <= 0 {
			return
		}
		e.reading += r.batch
		e.wait(e.pulls.pop(), readQueued)
	}
}

// deferReads lets r wait until more RDMA Reads are allowed.
func (e *Engine) deferReads(r *Request) {
	e.to(r, readDeferred)
	e.pulls.push(r)
}

// pull posts a batch of RDMA Reads.
func (e *Engine) pull(r *Request) {
	e.to(r, reading)
	id := e.begin(r.batch, nil, r)
	skip, left := r.reads-r.unread, r.batch
	for i := range r.plan.Pieces {
		p := &r.plan.Pieces[i]
		at, end := r.part(p)
		switch {
		case p.Source != chunk.FromPeer || at >= end:
			continue
		case skip > 0:
			skip--
			continue
		case left == 0:
			continue
		}
		wr := verbs.SendWR{WRID: id, Opcode: verbs.RDMARead, RKey: p.Remote.Handle, RemoteAddr: p.Remote.Offset + uint64(at-p.At)}
		if left--; left == 0 {
			wr.Flags = verbs.SendSignaled
		}
		e.add(wr, verbs.SGE{MR: r.Assembly.MR, Offset: r.Assembly.Offset + at, Length: end - at})
		r.batchSize += end - at
	}
	r.unread -= r.batch
}

// read handles the completion of a batch of RDMA Reads.
func (e *Engine) read(r *Request) {
	e.stats.BytesRead += uint64(r.batchSize)
	e.delivered += uint64(r.batchSize)
	r.batchSize = 0
	e.reading -= r.batch
	if r.unread > 0 {
		e.deferReads(r)
	}
	e.admit()
	if r.unread == 0 {
		e.filled(r)
	}
}

// filled completes the message if Assembly has all of it, or asks for a longer Assembly.
func (e *Engine) filled(r *Request) {
	if r.AssemblyFilled = r.assemblyEnd(); r.AssemblyFilled < r.AssemblySize {
		e.to(r, assembling)
		e.eff.Assemble = append(e.eff.Assemble, r)
		return
	}
	r.Message, r.Placed = r.Assembly.Bytes[:r.plan.Size:r.plan.Size], r.plan.Placed
	e.complete(r)
}

// complete delivers an assembled message. Its head, which may have come by chunk, is checked now,
// in our copy only (T84).
func (e *Engine) complete(r *Request) {
	if r.reply != nil {
		e.replyRead(r, nil)
		return
	}
	if f := head(r.Message, r.XID, header.Call); f != nil {
		e.fault(f)
		r.Refused = f
		e.refuse(r, header.ErrChunk)
		return
	}
	e.to(r, delivered) // RFC 8166 §3.4.5.1: all Reads are over, none follows the Reply; R72, R73
	e.eff.Deliver = append(e.eff.Deliver, r)
}
