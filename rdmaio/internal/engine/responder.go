package engine

import (
	"fmt"
	"math"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// request deals with a Call in Receive i, decoded into e.next.
func (e *Engine) request(r *Request, i int, f *header.Fault) {
	if !e.grants.Accept() { // R134: what follows may need this Receive more (T119)
		e.stats.CallsOverCredit++
		e.stats.DroppedMessages++
		e.postRecv(i)
		return
	}
	e.next = e.newRequest()
	e.to(r, received)
	r.XID, r.recv = r.hdr.XID, i
	e.theirs.Calls++
	if f == nil {
		if f = e.accept(r); f != nil {
			e.fault(f)
		}
	}
	if f != nil {
		code := header.ErrChunk // R117, R118
		if f.Code == header.FaultVersion {
			code = header.ErrVers // R114
		}
		r.Refused = f
		e.refuse(r, code)
		return
	}
	if len(r.plan.Placed) == 0 && r.hdr.Kind == header.KindMsg {
		r.Message = r.hdr.Payload
		e.to(r, delivered)
		e.eff.Deliver = append(e.eff.Deliver, r)
		return
	}
	e.wantAssembly(r)
}

// cacheLine is the size of one on most processors. Memory is copied fastest from and to whole ones.
const cacheLine = 64

// wantAssembly asks for memory to put a planned message together in.
func (e *Engine) wantAssembly(r *Request) {
	r.AssemblySize, r.AssemblyLead, r.AssemblyFilled = r.plan.Size, 0, 0
	// A limit may be as large as an int allows.
	if len(r.plan.Placed) > 0 && r.AssemblySize <= math.MaxInt-cacheLine {
		r.AssemblyLead = -r.plan.Placed[0].At & (cacheLine - 1)
	}
	e.to(r, assembling)
	e.eff.Assemble = append(e.eff.Assemble, r)
}

// accept checks a Call's header as a whole; nothing was allocated for it yet.
func (e *Engine) accept(r *Request) *header.Fault {
	reverse := e.cfg.Role == Requester
	// A reverse Call with chunks is refused with the option off (R124, R277; T118).
	if l := &r.hdr.Lists; reverse && !e.cfg.ReverseChunks && (len(l.Reads) > 0 || len(l.Writes) > 0 || l.HasReply) {
		return &header.Fault{Code: header.FaultReverse, Found: uint64(l.Size()), Want: header.NoLists}
	}
	if r.hdr.Kind == header.KindMsg {
		// complete checks a message that comes by chunk.
		if f := head(r.hdr.Payload, r.XID, header.Call); f != nil {
			return f
		}
	}
	if f := e.cfg.Limits.Offered(&r.hdr.Lists); f != nil {
		return f
	}
	if e.terms.RemoteInvalidate && !reverse { // keys of forward Calls only
		r.key = r.hdr.FirstKey()
	}
	f := r.plan.Call(r.hdr.Reads, len(r.hdr.Payload), r.hdr.Kind == header.KindNomsg, &e.cfg.Limits)
	r.hdr.Reads = r.hdr.Reads[:0] // none go back in the Reply (R326)
	r.Lists = r.hdr.Lists
	if f == nil {
		f = e.checkReadDepth(r)
	}
	return f
}

// checkReadDepth refuses RDMA Reads where none were agreed on (R297, T124).
func (e *Engine) checkReadDepth(r *Request) *header.Fault {
	if r.plan.Reads > 0 && e.terms.Reads < 0 {
		return &header.Fault{Code: header.FaultNoReads, Found: uint64(r.plan.Reads)}
	}
	return nil
}

// answer takes a reply and decides nothing: its shape is the driver's choice, made from Lists.
func (e *Engine) answer(r *Request) {
	if !e.open {
		e.lose(r)
		return
	}
	switch {
	case r.Answer.Drop:
		e.postRecv(r.recv)
		e.grants.Answered()
		e.stats.DroppedMessages++
		e.release(r)
		return
	case r.Answer.Refuse != 0:
		e.refuse(r, r.Answer.Refuse)
		return
	}
	if len(r.Answer.Reads) > 0 {
		e.deferAnswer(r)
		return
	}
	e.shape(r)
	e.wait(r, queued)
}

// shape makes the header of a reply.
func (e *Engine) shape(r *Request) {
	long := r.Answer.Long.Length
	for i, c := range r.hdr.Writes { // RFC 8166 §4.3.2.1: one result each, in order; R77, R88
		var sge verbs.SGE
		if i < len(r.Answer.Data) {
			sge = r.Answer.Data[i]
		}
		e.fill(r, c, sge)
	}
	e.fill(r, r.hdr.Reply, r.Answer.Long)
	r.hdr.Kind = header.KindMsg
	r.hdr.Reads = append(r.hdr.Reads, r.Answer.Reads...)
	if long > 0 || len(r.hdr.Reads) > 0 && r.hdr.Reads[0].Position == 0 {
		r.hdr.Kind = header.KindNomsg // R98
		r.Answer.Payload = r.Answer.Payload[:0]
	}
}

// fill plans the Writes of one item into one chunk, and makes the lengths of the
// chunk those that the Reply returns.
func (e *Engine) fill(r *Request, c []header.Segment, sge verbs.SGE) {
	from := len(e.fills)
	e.fills = chunk.Fill(e.fills, c, sge.Length, e.cfg.Limits.Transfer)
	for _, f := range e.fills[from:] {
		r.transfers = append(r.transfers, transfer{
			sge:    verbs.SGE{MR: sge.MR, Offset: sge.Offset + f.From, Length: int(f.Remote.Length)},
			remote: f.Remote,
		})
	}
	e.fills = e.fills[:from]
	e.stats.BytesWritten += uint64(sge.Length)
}

// refuse answers with RDMA_ERROR, unless that happens too often (A19).
func (e *Engine) refuse(r *Request, code header.ErrorCode) {
	if e.now-e.refusals.since >= time.Second {
		e.refusals.since, e.refusals.n = e.now, 0
	}
	// RFC 8166 §8.1.4: only a flood of errors ends the connection, which others may share; R310.
	if e.refusals.n++; e.cfg.MaxErrors > 0 && e.refusals.n > e.cfg.MaxErrors {
		e.end(&Error{Reason: ErrTooManyErrors, Detail: fmt.Sprintf("limit %d", e.cfg.MaxErrors)})
		e.lose(r)
		return
	}
	r.hdr.Kind = header.KindError
	r.hdr.Err = header.Error{Code: code, Low: e.version.Number(), High: e.version.Number()}
	r.Answer.Payload = r.Answer.Payload[:0]
	r.transfers = r.transfers[:0]
	r.Answer.Reads = r.Answer.Reads[:0]
	r.hdr.Reads = r.hdr.Reads[:0]
	e.wait(r, queued)
}

// need returns the entries of the send queue that a queued request takes, and whether it sends a
// message.
func (r *Request) need() (wrs int, message bool) {
	if r.state == readQueued {
		return r.batch, false
	}
	return len(r.transfers) + 1, true
}

// send posts an answer: the Receive it came in, for the grant that goes out
// with it (R133), then Writes, then the Send (RFC 8166 §3.5.2; R4).
func (e *Engine) send(r *Request) {
	e.postRecv(r.recv)
	r.recv = none
	want := r.hdr.Credit
	e.grants.Answered()
	m := &r.hdr
	if m.Kind != header.KindError {
		// RFC 8167 §5.2; R274. An ERROR has the Call's, whatever that was (R116).
		m.Vers = e.version.Number()
	}
	m.Credit = e.grants.Grant(want) // RFC 8166 §4.2.3: in an ERROR, too; R34
	e.theirs.Granted = int(m.Credit)
	buf, n, err := e.message(m, r.Answer.Payload)
	if err != nil && m.Kind != header.KindError {
		// The driver has planned wrongly; the peer still gets its answer (R125).
		m.Kind, m.Err, r.transfers = header.KindError, header.Error{Code: header.ErrChunk}, r.transfers[:0]
		r.Err = err
		m.Reads = m.Reads[:0]
		e.releaseDeferred() // it takes no RDMA_DONE any more
		buf, n, err = e.message(m, nil)
	}
	if err != nil {
		e.end(err)
		e.lose(r)
		return
	}
	if m.Kind == header.KindError {
		e.stats.ErrorMessages++
	} else {
		e.theirs.Replies++
	}
	e.stats.Sent++
	e.posted(r)
	waits := r
	if len(r.transfers) == 0 && r.state == sent {
		waits = nil // all of it was copied: what the handler gave is its own again
		e.copied = append(e.copied, r)
	}
	id := e.begin(len(r.transfers)+1, buf, waits)
	for i := range r.transfers {
		t := &r.transfers[i]
		e.add(verbs.SendWR{WRID: id, Opcode: verbs.RDMAWrite, RKey: t.remote.Handle, RemoteAddr: t.remote.Offset}, t.sge)
	}
	wr := verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited}
	// RFC 8797 §4.1: with Replies only, and only a key of this very Call; else a plain Send (R261).
	// Its Reads are over, and its Writes go before (R4).
	if r.key != 0 && m.Kind != header.KindError {
		wr.Opcode, wr.InvalidateRKey = verbs.SendWithInvalidate, r.key
		e.stats.RemoteInvalidations++
	}
	e.add(wr, buf.sge(n))
}

func (e *Engine) newRequest() *Request {
	if k := len(e.idleReqs); k > 0 {
		r := e.idleReqs[k-1]
		e.idleReqs = e.idleReqs[:k-1]
		return r
	}
	return &Request{recv: none}
}
