package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// sink takes the memory for a Call with chunks: inline bytes and pads go to
// their places now, the rest by RDMA Read.
func (e *Engine) sink(r *Request, err error) {
	switch {
	case !e.open:
		e.lose(r)
		return
	case err != nil && r.reply != nil:
		e.fetched(r, err)
		return
	case err != nil: // R125: the peer is told
		r.Refused = err
		e.refuse(r, header.ErrChunk)
		return
	}
	for i := range r.plan.Pieces {
		p := &r.plan.Pieces[i]
		to := r.Sink.Bytes[p.At : p.At+p.Len]
		switch p.Source {
		case chunk.FromInline:
			copy(to, r.hdr.Payload[p.From:p.From+p.Len])
		case chunk.FromPad:
			clear(to) // R314
		}
	}
	r.Message, r.Placed = r.Sink.Bytes[:r.plan.Size:r.plan.Size], r.plan.Placed
	if r.reply != nil { // no answer to come for which it would wait
		e.postRecv(r.recv)
		r.recv = none
	}
	if r.plan.Reads == 0 { // chunks of no bytes (T40)
		e.complete(r)
		return
	}
	r.pulling, r.unread = true, r.plan.Reads
	e.pulls.push(r)
	e.admit()
}

// admit lets Calls have their RDMA Reads, as many at a time as were agreed on (R137, R297).
func (e *Engine) admit() {
	for e.pulls.len() > 0 {
		r := *e.pulls.at(0)
		r.batch = r.unread
		if e.terms.Reads > 0 {
			r.batch = min(r.batch, e.terms.Reads-e.reading)
		}
		if r.batch <= 0 {
			return
		}
		e.reading += r.batch
		e.wait(e.pulls.pop())
	}
}

// pull posts the RDMA Reads of a Call whose turn it is.
func (e *Engine) pull(r *Request) {
	id := e.begin(r.batch, nil, r, true)
	skip, left := r.plan.Reads-r.unread, r.batch
	for i := range r.plan.Pieces {
		p := &r.plan.Pieces[i]
		switch {
		case p.Source != chunk.FromPeer:
			continue
		case skip > 0:
			skip--
			continue
		case left == 0:
			continue
		}
		wr := verbs.SendWR{WRID: id, Opcode: verbs.RDMARead, RKey: p.Remote.Handle, RemoteAddr: p.Remote.Offset}
		if left--; left == 0 {
			wr.Flags = verbs.SendSignaled
		}
		e.add(wr, verbs.SGE{MR: r.Sink.MR, Offset: r.Sink.Offset + p.At, Length: p.Len})
		e.stats.Pulled += uint64(p.Len)
	}
	r.unread -= r.batch
}

// read goes on when a batch of a Call's RDMA Reads is over.
func (e *Engine) read(r *Request) {
	e.reading -= r.batch
	if r.unread > 0 {
		e.pulls.push(r)
	}
	e.admit()
	if r.unread == 0 {
		e.pulled(r)
	}
}

// pulled goes on when a message has been read.
func (e *Engine) pulled(r *Request) {
	r.pulling = false
	e.complete(r)
}

// complete hands on what has been put together. A message whose head came by chunk
// is looked at now; checks run on our copy only (T84).
func (e *Engine) complete(r *Request) {
	if r.reply != nil {
		e.fetched(r, nil)
		return
	}
	if f := head(r.Message, r.XID, header.Call); f != nil {
		e.fault(f)
		r.Refused = f
		e.refuse(r, header.ErrChunk)
		return
	}
	e.eff.Deliver = append(e.eff.Deliver, r)
}
