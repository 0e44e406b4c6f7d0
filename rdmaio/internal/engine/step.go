package engine

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

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
	case EventSpend:
		e.cfg.KeepCredit = false
	case EventProbe:
		e.sends.probe(ev.Control)
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
