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

// checkReadDepth refuses a Call that needs RDMA Reads if the terms allow none (R297, T124).
func (rs *responder) checkReadDepth(r *Request) *header.Fault {
	if r.plan.Reads > 0 && rs.terms.Reads < 0 {
		return &header.Fault{Code: header.FaultNoReads, Found: uint64(r.plan.Reads)}
	}
	return nil
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

// to moves r to a state. A step that is not in the drawings above Request is a bug of the engine,
// or an event that the driver must not send, and closes the connection.
func (rs *responder) to(r *Request, s requestState) {
	if !s.follows(r.state) {
		rs.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("the message with XID %#08x goes from state %v to %v", r.XID, r.state, s)})
	}
	r.state = s
}

// release returns r to the driver. The engine does not use its memory any more.
func (rs *responder) release(r *Request) {
	rs.to(r, released)
	rs.eff.Release = append(rs.eff.Release, r)
	if r.source.joined != nil {
		rs.cfg.Reserve(-cap(r.source.joined))
	}
}

// repost posts the Receive of a Request again, unless that was done.
func (rs *responder) repost(r *Request) {
	if r.source.recv != none {
		rs.postRecv(r.source.recv)
		r.source.recv = none
	}
}

// wait queues a request for send queue entries: s is readQueued, queued or doneQueued.
func (rs *responder) wait(r *Request, s requestState) {
	rs.to(r, s)
	r.ticket = rs.sends.nextTicket()
	rs.answers.push(r)
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
