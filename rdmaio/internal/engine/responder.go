package engine

import (
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// responder serves the peer's Calls: it accepts, assembles and answers them, and grants credits for
// them. Their XIDs are independent of our Calls' XIDs, and need no table (R268). With Config.Legacy
// it also assembles the Replies with read chunks to our Calls.
type responder struct {
	*shared
	sends     *sendQueue
	control   *control
	requester *requester // of the Calls that Replies with read chunks answer
	flow      *Flow      // counts of the peer's Calls; the role decides which are forward

	copied       []*Request      // sent in this Step, by messages that have copies of their answers
	answers      queue[*Request] // readQueued, queued and doneQueued
	pulls        queue[*Request] // readDeferred
	reading      int             // RDMA Reads in readQueued or reading
	next         *Request        // the next message is decoded into it
	awaitingDone []*Request      // in sentReads or awaitingDone; oldest first
	deferred     queue[*Request] // answers that wait for a Receive for their RDMA_DONE
	idle         idleRequests
	fills        []chunk.Transfer
}

// request deals with a Call in Receive i, decoded into rs.next. own is the memory of its payload if
// that is not the Receive.
func (rs *responder) request(r *Request, i int, own []byte, f *header.Fault) {
	if !rs.account.Accept() { // R134: what follows may need this Receive more (T119)
		rs.stats.CallsOverCredit++
		rs.postRecv(i)
		if e := rs.version.Refusal(&header.Fault{Code: header.FaultCredit}); e.Code != 0 {
			rs.control.refuse(r.hdr.XID, e)
		} else {
			rs.stats.DroppedMessages++
		}
		if own != nil {
			rs.giveBack(own)
		}
		return
	}
	rs.next = rs.idle.take()
	rs.to(r, received)
	r.XID = r.hdr.XID
	r.source.recv, r.source.joined = i, own
	if own == nil {
		rs.takeLoan(r)
	}
	if own != nil || !rs.account.Keeps() {
		if own == nil && r.source.loan == nil {
			r.hdr.Payload = r.source.keep(r.hdr.Payload)
		}
		rs.postRecv(i)
		r.source.recv = none
	}
	rs.flow.Calls++
	if f == nil {
		if f = rs.accept(r); f != nil {
			rs.fault(f)
		}
	}
	if f != nil {
		r.Refused = f
		rs.refuse(r, rs.version.Refusal(f))
		return
	}
	if len(r.plan.Placed) == 0 && r.hdr.Kind == header.KindMsg {
		r.Message = r.hdr.Payload
		rs.to(r, delivered)
		rs.eff.Deliver = append(rs.eff.Deliver, r)
		return
	}
	rs.wantAssembly(r)
}

// cacheLine is the size of a cache line on most processors. Copying is fastest between whole lines.
const cacheLine = 64

// wantAssembly asks for memory in which a planned message can be assembled.
func (rs *responder) wantAssembly(r *Request) {
	r.AssemblySize, r.AssemblyLead, r.AssemblyFilled = r.plan.Size, 0, 0
	// A limit may be as large as an int allows.
	if len(r.plan.Placed) > 0 && r.AssemblySize <= math.MaxInt-cacheLine {
		r.AssemblyLead = -r.plan.Placed[0].At & (cacheLine - 1)
	}
	rs.to(r, assembling)
	rs.eff.Assemble = append(rs.eff.Assemble, r)
}

// accept checks the whole header of a Call. Nothing has been allocated for the Call yet.
func (rs *responder) accept(r *Request) *header.Fault {
	reverse := rs.cfg.Role == Requester
	// A reverse Call with chunks is refused with the option off (R124, R277; T118).
	if l := &r.hdr.Lists; reverse && !rs.cfg.ReverseChunks && (len(l.Reads) > 0 || len(l.Writes) > 0 || l.HasReply) {
		f := &header.Fault{Code: header.FaultReverse, Found: uint64(l.Size()), Want: header.NoLists}
		if len(l.Reads) > 0 {
			f.Where = "read list"
		}
		return f
	}
	if r.hdr.Kind == header.KindMsg {
		// complete checks a message that comes by chunk.
		if f := head(r.hdr.Payload, r.XID, header.Call); f != nil {
			return f
		}
	}
	if f := rs.cfg.Limits.Offered(&r.hdr.Lists); f != nil {
		return f
	}
	if !reverse { // keys of forward Calls only
		r.key = rs.version.InvalidateKey(&r.hdr, rs.terms.RemoteInvalidate)
	}
	r.hdr.InvalidateKey = 0 // the Reply names none (R259)
	f := r.plan.Call(r.hdr.Reads, len(r.hdr.Payload), r.hdr.Kind == header.KindNomsg, &rs.cfg.Limits)
	r.hdr.Reads = r.hdr.Reads[:0] // none go back in the Reply (R326)
	r.Lists = r.hdr.Lists
	if f == nil {
		f = rs.checkReadDepth(r)
	}
	return f
}

// checkReadDepth refuses a Call that needs RDMA Reads if the terms allow none (R297, T124).
func (rs *responder) checkReadDepth(r *Request) *header.Fault {
	if r.plan.Reads > 0 && rs.terms.Reads < 0 {
		return &header.Fault{Code: header.FaultNoReads, Found: uint64(r.plan.Reads)}
	}
	return nil
}

// completed moves a Request to the next state when the chain that it waits for has completed.
func (rs *responder) completed(r *Request) {
	switch r.state {
	case reading:
		rs.read(r)
	case sentReads:
		rs.to(r, awaitingDone)
	case doneSent: // the credit was in use until the peer could know (R106)
		rs.account.Ended()
		rs.release(r)
	default:
		rs.release(r)
	}
}

// releaseCopied releases, at the end of a Step, the answers that it has posted and that are copied.
func (rs *responder) releaseCopied() {
	for _, r := range rs.copied {
		rs.release(r)
	}
	clear(rs.copied)
	rs.copied = rs.copied[:0]
}

// timer closes the connection if an RDMA_DONE is late.
func (rs *responder) timer() {
	if rs.open && len(rs.awaitingDone) > 0 && rs.awaitingDone[0].deadline <= rs.now { // R109
		rs.end(&Error{Reason: ErrNoDone, Detail: fmt.Sprintf("XID %#08x, limit %v", rs.awaitingDone[0].XID, rs.cfg.DoneTimeout)})
	}
}

// setDeadline requests an EventTimer for the oldest answer whose RDMA_DONE is due.
func (rs *responder) setDeadline() {
	if len(rs.awaitingDone) > 0 {
		rs.wake(rs.awaitingDone[0].deadline)
	}
}

// abandon releases all Requests when the connection is closed, except the driver's. posted are the
// Requests that waited for a chain.
func (rs *responder) abandon(posted []*Request) {
	// Answers to these could not be sent.
	for _, list := range []*[]*Request{&rs.eff.Assemble, &rs.eff.Deliver, &rs.copied} {
		for _, r := range *list {
			rs.lose(r)
		}
		*list = (*list)[:0]
	}
	for _, q := range []*queue[*Request]{&rs.answers, &rs.pulls} {
		for q.len() > 0 {
			rs.lose(q.pop())
		}
	}
	for _, r := range posted {
		if r.state != sentReads { // that one is also in awaitingDone
			rs.lose(r)
		}
	}
	for rs.deferred.len() > 0 {
		rs.lose(rs.deferred.pop())
	}
	for _, r := range rs.awaitingDone {
		rs.lose(r)
	}
	rs.awaitingDone = nil
}

// lose releases a Request whose answer will not be sent.
func (rs *responder) lose(r *Request) {
	r.Err = rs.ended
	rs.release(r)
}
