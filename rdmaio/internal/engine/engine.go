package engine

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/credit"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Engine is the state of one connection. It is for one goroutine at a time.
type Engine struct {
	cfg      Config
	version  protocol.Version
	self     protocol.End
	eff      Effects
	now      time.Duration
	open     bool
	ended    error // why it no longer is
	draining error // not nil: the connection ends with it when everything is sent
	terms    header.Terms
	stats    Stats

	delivered uint64 // bytes of messages received and of RDMA Reads completed

	// Counts of our Calls, and of the peer's. The role decides which are forward.
	ours, theirs *Flow

	// The send queue.
	sends      sendBuffers
	sqUsed     int
	lastTicket uint64 // the last one given out
	seq        uint64
	chains     queue[chain] // posted, oldest first
	last       int          // in Effects.Sends, of a chain without a Request; or none
	awaited    int          // chains for whose completion a Request waits
	stuck      bool         // the first in the queue does not fit
	recvSGL    []verbs.SGE  // one for each Receive
	sges       []verbs.SGE  // of Effects.Sends

	// For our Calls. The peer's XIDs are another space, and need no table (R268).
	credit  credit.Requester
	table   calls           // not ended, by XID
	waiting queue[*pending] // for a credit
	idle    []*pending
	out     header.Message // being encoded

	// For the peer's Calls.
	grants   credit.Responder
	copied   []*Request      // sent in this Step, by messages that have copies of their answers
	answers  queue[*Request] // readQueued, queued and doneQueued
	pulls    queue[*Request] // readDeferred
	reading  int             // RDMA Reads in readQueued or reading
	refusals struct {
		since time.Duration
		n     int
	}
	next         *Request        // the next message is decoded into it
	awaitingDone []*Request      // in sentReads or awaitingDone; oldest first
	deferred     queue[*Request] // answers that wait for a Receive for their RDMA_DONE
	idleReqs     []*Request
	fills        []chunk.Transfer
}

// chain is work requests that are posted together. The last of them is signaled, and its completion
// completes the chain. A quiet chain has no signaled request: the completion of the next chain
// completes it, too.
type chain struct {
	id       uint64
	wrs      int
	quiet    bool
	buf      *Buffer  // in use, or nil
	req      *Request // waits for the completion, or nil
	deadline time.Duration
}

// New makes an engine; the Config is not checked.
func New(cfg Config) *Engine {
	cfg.Limits.Requests = min(cfg.Limits.Requests, cfg.SendWRs)
	e := &Engine{
		cfg:     cfg,
		open:    true,
		terms:   header.DefaultTerms(),
		version: cfg.Version,
		table:   make(calls),
		credit:  credit.NewRequester(cfg.Calls),
		grants:  credit.NewResponder(cfg.Serves, len(cfg.Recv)-cfg.Serves),
		recvSGL: make([]verbs.SGE, len(cfg.Recv)),
		next:    &Request{recv: none},
	}
	e.self = protocol.End{Forward: protocol.Answer, Legacy: cfg.Legacy, LongReplies: e.legacyReplies() && !cfg.ReverseChunks, Calls: e.table}
	e.ours, e.theirs = &e.stats.Flow, &e.stats.Reverse
	if cfg.Role == Responder {
		e.self.Forward = protocol.Call
		e.ours, e.theirs = e.theirs, e.ours
	}
	e.sends.own = len(cfg.Send)
	for i := range cfg.Send {
		e.sends.free = append(e.sends.free, &e.cfg.Send[len(cfg.Send)-1-i])
	}
	for i := range cfg.Recv {
		e.recvSGL[i] = cfg.Recv[i].sge(len(cfg.Recv[i].Bytes))
	}
	return e
}

// Step handles events in their order and returns their effects. now is the time on any monotonic
// clock.
func (e *Engine) Step(now time.Duration, events []Event) *Effects {
	for _, r := range e.eff.Release {
		r.reset()
		e.idleReqs = append(e.idleReqs, r)
	}
	e.eff.reset()
	e.sges, e.last = e.sges[:0], none
	e.now = now
	for i := range events {
		e.event(&events[i])
	}
	e.pump()
	if e.draining != nil && e.chains.len() == 0 && e.answers.len() == 0 {
		e.end(e.draining)
	}
	for _, r := range e.copied {
		e.release(r)
	}
	clear(e.copied)
	e.copied = e.copied[:0]
	e.eff.Await = e.open && (e.awaited > 0 || e.stuck || e.draining != nil)
	if e.chains.len() > 0 && e.cfg.ChainTimeout > 0 {
		e.wake(e.chains.at(0).deadline)
	}
	if len(e.awaitingDone) > 0 {
		e.wake(e.awaitingDone[0].deadline)
	}
	if e.sends.borrowed > 0 {
		e.wake(e.sends.shrinkAt)
	}
	return &e.eff
}

// wake makes the deadline no later than at.
func (e *Engine) wake(at time.Duration) {
	if e.eff.Deadline == 0 || at < e.eff.Deadline {
		e.eff.Deadline = at
	}
}

// Stats returns the counts.
func (e *Engine) Stats() Stats {
	e.ours.InFlight, e.theirs.InFlight = e.credit.InFlight(), e.grants.Busy()
	if e.cfg.Calls > 0 {
		e.ours.Granted = e.credit.Granted()
	}
	s := e.stats
	s.ZeroGrants, s.OverGrants = e.credit.ZeroGrants(), e.credit.OverGrants()
	s.SendQueueFilled = e.sqUsed
	s.Waiting = e.waiting.len() + e.answers.len() + e.pulls.len() + e.deferred.len()
	s.DoneMessagesDue = len(e.awaitingDone)
	return s
}

// Delivered returns the number of bytes received from the peer: messages, and RDMA Reads that
// completed.
func (e *Engine) Delivered() uint64 { return e.delivered }

// event handles one event.
func (e *Engine) event(ev *Event) {
	switch ev.Kind {
	case EventStart:
		for i := range e.cfg.Recv { // RFC 8167 §4.3: on each connection, before any message; R272
			e.postRecv(i)
		}
	case EventTerms:
		e.terms = *ev.Terms
		e.admit()
	case EventCompletion:
		if e.open {
			e.completion(ev.WC)
		}
	case EventCall:
		e.call(ev.Call)
	case EventCancel:
		e.cancel(ev.XID, ev.Call, ev.Left)
	case EventAssembly:
		e.assemble(ev.Request, ev.Err)
	case EventReply:
		e.answer(ev.Request)
	case EventBuffers:
		e.addBuffers(ev.Buffers)
	case EventTimer:
		e.shrinkBuffers()
		if e.open && e.chains.len() > 0 && e.cfg.ChainTimeout > 0 && e.chains.at(0).deadline <= e.now {
			e.end(&Error{Reason: ErrTimeout, Detail: fmt.Sprint(e.cfg.ChainTimeout)})
		}
		if e.open && len(e.awaitingDone) > 0 && e.awaitingDone[0].deadline <= e.now { // R109
			e.end(&Error{Reason: ErrNoDone, Detail: fmt.Sprintf("XID %#08x, limit %v", e.awaitingDone[0].XID, e.cfg.DoneTimeout)})
		}
	case EventBroken:
		e.end(e.blame(ev.WC, ev.Err))
	case EventClose:
		e.end(ev.Err)
	case EventDrain:
		e.draining = ev.Err
	}
}

// blame adds to err the XID of the peer's message for which the failed request was posted, if there
// is one.
func (e *Engine) blame(wc *verbs.WC, err error) error {
	if wc == nil {
		return err
	}
	for i := range e.chains.len() {
		c := e.chains.at(i)
		switch {
		case c.id != wc.WRID || c.req == nil:
		case c.req.state == reading:
			return fmt.Errorf("rdmaio: RDMA Read for the message with XID %#08x: %w", c.req.XID, err)
		default:
			return fmt.Errorf("rdmaio: answer to the message with XID %#08x: %w", c.req.XID, err)
		}
	}
	return err
}

// completion handles a completion of either queue.
func (e *Engine) completion(wc *verbs.WC) {
	switch {
	case wc.Status == verbs.StatusFlushed:
		// The queue pair is in its error state, and EventBroken with the reason on its way.
	case wc.Status != verbs.StatusSuccess: // RFC 8166 §4.5.3: nothing of it is delivered; R74
		e.end(wc.Err())
	case wc.Opcode == verbs.WCRecv:
		e.received(wc)
	default:
		e.sent(wc)
	}
}

// postRecv posts a Receive, again or for the first time.
func (e *Engine) postRecv(i int) {
	if !e.open {
		return
	}
	e.eff.Recvs = append(e.eff.Recvs, verbs.RecvWR{WRID: uint64(i), SGL: e.recvSGL[i : i+1 : i+1]})
	e.stats.PostedRecvs++
	e.grants.Posted(1)
}

// end ends the connection. It gives back all memory that the queue pair cannot access after
// Effects.Fail (RFC 8166 §4.4.1; R285). A Request that a handler has is released after its
// EventReply.
func (e *Engine) end(err error) {
	if !e.open {
		return
	}
	e.open, e.ended = false, err
	e.eff.Recvs, e.eff.Sends = e.eff.Recvs[:0], e.eff.Sends[:0]
	e.eff.Fail = err
	e.eff.WantBuffers, e.eff.Deadline = 0, 0
	e.abandonCalls()
	// Answers to these could not be sent.
	for _, list := range []*[]*Request{&e.eff.Assemble, &e.eff.Deliver, &e.copied} {
		for _, r := range *list {
			e.lose(r)
		}
		*list = (*list)[:0]
	}
	for _, q := range []*queue[*Request]{&e.answers, &e.pulls} {
		for q.len() > 0 {
			e.lose(q.pop())
		}
	}
	e.returnBuffers()
	for e.chains.len() > 0 {
		// One in sentReads is also in awaitingDone.
		if c := e.chains.pop(); c.req != nil && c.req.state != sentReads {
			e.lose(c.req)
		}
	}
	for e.deferred.len() > 0 {
		e.lose(e.deferred.pop())
	}
	for _, r := range e.awaitingDone {
		e.lose(r)
	}
	e.awaitingDone = nil
	e.sqUsed, e.awaited, e.stuck = 0, 0, false
}

// lose releases a Request whose answer will not be sent.
func (e *Engine) lose(r *Request) {
	r.Err = e.ended
	e.release(r)
}
