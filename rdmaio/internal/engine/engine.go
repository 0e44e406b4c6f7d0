package engine

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Engine is the state of one connection. Only one goroutine may use it at a time. It passes each
// event to the part that handles it. The parts call each other in one direction only: requester and
// responder call sendQueue, and responder calls requester for Replies with read chunks.
type Engine struct {
	shared
	sends       sendQueue
	requester   requester
	responder   responder
	control     control
	joiner      joiner
	negotiation negotiation
	stall       stall
	stuck       bool // the first in the queue for send queue entries does not fit
}

// New makes an engine; the Config is not checked.
func New(cfg Config) *Engine {
	cfg.Limits.Requests = min(cfg.Limits.Requests, cfg.SendWRs)
	if cfg.Memory == nil {
		cfg.Memory = heap{}
	}
	cfg.prepare()
	e := &Engine{shared: shared{cfg: cfg, open: true}}
	s := &e.shared
	if len(cfg.Recv) > 0 {
		s.recvSGL = make([]verbs.SGE, len(cfg.Recv))
	}
	s.receives.posted = make([]int32, cfg.Receives)
	if s.receives.size = cfg.ReceiveSize; s.receives.size == 0 {
		s.receives.size = cfg.ReceiveMost
	}
	s.receives.agreed = s.receives.size
	ours, theirs, forward := &s.stats.Flow, &s.stats.Reverse, protocol.Answer
	if cfg.Role == Responder {
		ours, theirs, forward = theirs, ours, protocol.Call
	}
	e.sends = sendQueue{shared: s, buffers: newSendBuffers(s.cfg.Send)}
	e.requester = requester{
		shared: s, sends: &e.sends, flow: ours,
	}
	e.responder = responder{
		shared: s, sends: &e.sends, requester: &e.requester, flow: theirs,
		next: newRequest(),
	}
	s.onEnd = e.abandon
	s.self = protocol.End{Forward: forward, Legacy: cfg.Legacy, LongReplies: cfg.Legacy && cfg.Role == Requester && !cfg.ReverseChunks, Calls: &e.requester.table}
	e.control = control{shared: s, sends: &e.sends, negotiation: &e.negotiation}
	e.responder.control = &e.control
	e.joiner.shared, e.requester.joiner = s, &e.joiner
	e.negotiation = negotiation{shared: s, control: &e.control, accounts: protocol.AccountConfig{End: &s.self, Calls: cfg.Calls, Serves: cfg.Serves}}
	e.negotiation.start()
	for i := range cfg.Recv {
		s.recvSGL[i] = cfg.Recv[i].sge(s.receives.size)
	}
	return e
}

// Step handles events in their order and returns their effects. now is the time on any monotonic
// clock.
func (e *Engine) Step(now time.Duration, events []Event) *Effects {
	if len(e.eff.Release) > 0 {
		e.responder.idle.recycle(e.eff.Release, e.cfg.Memory)
	}
	e.eff.reset()
	e.sends.reset()
	e.now = now
	for i := range events {
		e.event(&events[i])
	}
	e.pump()
	if e.draining != nil && e.sends.chains.len() == 0 && e.responder.answers.len() == 0 && e.control.queue.len() == 0 && !e.sends.sequence.open {
		e.end(e.draining)
	}
	e.responder.releaseCopied()
	e.eff.Await = e.open && (e.sends.awaited > 0 || e.stuck || e.draining != nil)
	e.resized()
	e.sends.setDeadline()
	e.responder.setDeadline()
	if e.open {
		e.negotiation.setDeadline()
		e.joiner.setDeadline()
	}
	if e.stall.deadline > 0 || e.sends.sequence.open || e.responder.answers.len()+e.control.queue.len() > 0 {
		e.stall.look(e)
	}
	return &e.eff
}

// Stats returns the counts.
func (e *Engine) Stats() (s Stats) {
	e.ReadStats(&s)
	return s
}

// ReadStats sets s to the counts.
func (e *Engine) ReadStats(s *Stats) {
	rq, rs := &e.requester, &e.responder
	n := e.account.Counts()
	rq.flow.InFlight, rs.flow.InFlight, rs.flow.Granted = n.Calls, n.Busy, n.Given
	if e.cfg.Calls > 0 {
		rq.flow.Granted = n.Granted
	}
	*s = e.stats
	s.ZeroGrants, s.OverGrants = n.ZeroGrants, n.OverGrants
	s.SendQueueFilled = e.sends.filled
	s.Waiting = rq.waiting.len() + rs.answers.len() + rs.pulls.len() + rs.deferred.len()
	s.DoneMessagesDue = len(rs.awaitingDone)
}

// Credits returns the number of Calls that this side may have in progress: the credits granted for
// them, less those that cancelled Calls hold.
func (e *Engine) Credits() int {
	if e.cfg.Calls == 0 {
		return 0
	}
	return max(e.account.Counts().Granted-e.stats.Abandoned, 0)
}

// Delivered returns the number of bytes received from the peer: messages, and RDMA Reads that
// completed.
func (e *Engine) Delivered() uint64 { return e.delivered }

// event handles one event.
func (e *Engine) event(ev *Event) {
	switch ev.Kind {
	case EventStart:
		e.negotiation.setTerms()
		// RFC 8167 §4.3: on each connection, before any message; R272
		for i := range e.cfg.Receives {
			e.postRecv(i)
		}
	case EventTerms:
		trim(&e.eff.Recvs) // there were many at EventStart
		e.negotiation.base = *ev.Control.Terms
		e.negotiation.setTerms()
		e.responder.admit()
	case EventOpen:
		e.negotiation.offer()
	case EventCompletion:
		if e.open {
			e.completion(ev.WC)
		}
	case EventCall:
		e.requester.call(ev.Call)
	case EventCancel:
		var left any
		if ev.Control != nil {
			left = ev.Control.Left
		}
		e.requester.cancel(ev.XID, ev.Call, left)
	case EventAssembly:
		e.responder.assemble(ev.Request, ev.Err)
	case EventReply:
		e.responder.answer(ev.Request)
	case EventBuffers:
		e.sends.addBuffers(ev.Control.Buffers)
	case EventTimer:
		e.sends.timer()
		e.responder.timer()
		e.negotiation.timer()
		e.joiner.timer()
		e.stall.timer(e)
		e.trim()
	case EventProperties:
		e.control.sendProperties(e.cfg.OfferXID, ev.Control.Props)
	case EventOther:
		e.control.sendOther(&ev.Control.Other)
	case EventReceiveSize:
		e.resize(ev.Control.Size)
	case EventSendSize:
		e.negotiation.sendSize = ev.Control.Size
		e.negotiation.setTerms()
	case EventRestrict:
		e.negotiation.restrict = ev.Control.Restrict
		e.negotiation.setTerms()
	case EventBroken:
		e.end(e.blame(ev.WC, ev.Err))
	case EventClose:
		e.end(ev.Err)
	case EventDrain:
		e.draining = ev.Err
	}
}

// trim frees memory that only a load needs and that is not in use now.
func (e *Engine) trim() {
	e.responder.idle, e.requester.idle = nil, nil
	e.sends.chains.trim()
	e.responder.answers.trim()
	e.requester.waiting.trim()
	if e.open {
		e.eff.trim()
	}
}

// blame adds to err the XID of the peer's message for which the failed request was posted, if there
// is one.
func (e *Engine) blame(wc *verbs.WC, err error) error {
	if wc == nil {
		return err
	}
	switch r := e.sends.waiter(wc.WRID); {
	case r == nil:
		return err
	case r.state == reading:
		return fmt.Errorf("rdmaio: RDMA Read for the message with XID %#08x: %w", r.XID, err)
	default:
		return fmt.Errorf("rdmaio: answer to the message with XID %#08x: %w", r.XID, err)
	}
}

// completion handles a completion of either queue.
func (e *Engine) completion(wc *verbs.WC) {
	switch {
	case wc.Status == verbs.StatusFlushed:
		// The queue pair is in its error state, and EventBroken with the reason on its way.
	case wc.Status != verbs.StatusSuccess: // RFC 8166 §4.5.3: no part is delivered; R74
		e.end(wc.Err())
	case wc.Opcode == verbs.WCRecv:
		e.loan = wc.Loan
		e.received(wc)
		returnLoan(&e.loan)
	default:
		if r := e.sends.sent(wc); r != nil {
			e.responder.completed(r)
		}
	}
}

// abandon fails all Calls and releases all Requests when the connection is lost, except Requests
// that the driver holds.
func (e *Engine) abandon() {
	if r := e.sends.sequence.reply; r != nil {
		e.responder.lose(r)
	}
	e.sends.sequence = sequence{}
	e.control.queue = queue[outgoing]{}
	e.joiner.reset()
	e.control.forget()
	e.requester.abandon()
	e.responder.abandon(e.sends.abandon())
	e.stuck = false
}
