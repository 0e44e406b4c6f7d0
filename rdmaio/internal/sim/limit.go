package sim

import (
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// limit is the memory of the server for Calls and their replies: the product's admission, over all
// connections of the client, which is one source.
//
//	Call ──> Take ──> Admit ──> handler or reply cache ──> Reply ──> released: End, Give
//	           └───────┴── wait, until the Waiter is called
type limit struct {
	w      *world
	budget admission.Budget
	share  *admission.Share
	active map[*admitted]bool
	held   int // bytes that Calls and replies use, or may use: handlers are running
	most   int // the largest held
	waited int // Calls that had to wait
}

// largest returns the size of the largest Call or reply: in version 2 one that is continued.
func (v *versions) largest() int {
	if v.is2() {
		return 34 << 10
	}
	return 10 << 10
}

// newLimit returns the limit of a run, or nil.
func newLimit(w *world) *limit {
	if !w.draw.limited {
		return nil
	}
	n := w.versions.largest()
	l := &limit{w: w, active: make(map[*admitted]bool), budget: admission.Budget{Most: 4 * n, Reply: n}}
	l.share = l.budget.Join(admission.Source{Local: true})
	return l
}

// recallTime is the time after which a handler without a reply loses its memory to those that wait.
// Its reply may then exceed the limit (ADR 0155).
const recallTime = time.Second

// hold counts bytes that the server uses from now on, or no longer.
func (l *limit) hold(n int) {
	l.held += n
	l.most = max(l.most, l.held)
	if l.held <= l.budget.Most {
		return
	}
	most := l.budget.Most
	for a := range l.active {
		if a.late || !a.replied && l.w.now-a.since >= recallTime {
			most += a.reply
		}
	}
	if l.held > most {
		l.w.fail("the server uses %d bytes for Calls and replies, its limit is %d", l.held, most)
	}
}

// admitted is a Call on its way to the handler, and its reply.
type admitted struct {
	l      *limit
	ticket admission.Ticket
	waiter admission.Waiter
	own    int // bytes of the Call
	bound  int // of the reply; negative: unknown
	reply  int // its size, or before it the largest that it can have
	taken  bool
	pass   func() // to the handler; nil: it has run

	since         time.Duration // when it did
	replied, late bool          // late: after recallTime
}

// admit passes a Call to its handler when there is memory for it and its reply.
func (l *limit) admit(q *engine.Request, e *end, p *rpc, message []byte) {
	a := &admitted{l: l, own: len(message), bound: -1}
	if p.tag%2 == 0 {
		a.bound = len(p.want)
	}
	a.pass = func() { e.pass(q, p, message) }
	a.waiter.Call = func() { l.w.inbox.put(p.tag, e.name+" has memory", a.advance) }
	e.admitted[q] = a
	a.advance()
}

// advance takes what the Call still needs, or waits for it.
func (a *admitted) advance() {
	if a.pass == nil {
		return // the Waiter was called once more
	}
	if !a.taken {
		if a.taken = a.l.share.Take(a.own, &a.waiter); !a.taken {
			a.l.waited++
			return
		}
		a.l.hold(a.own)
		a.ticket = a.l.share.Ticket(a.own)
	}
	if !a.l.w.cfg.Bugs.NoTickets && !a.ticket.Admit(a.bound, &a.waiter) {
		a.l.waited++
		return
	}
	if a.reply = a.bound; a.bound < 0 {
		a.reply = a.l.budget.Reply
	}
	a.since = a.l.w.now
	a.l.active[a] = true
	a.l.hold(a.reply)
	pass := a.pass
	a.pass = nil
	pass()
}

// replies counts the bytes of a reply, in place of the largest one.
func (a *admitted) replies(n int) {
	if a != nil {
		a.ticket.Reply(n)
		a.replied, a.late = true, a.l.w.now-a.since >= recallTime
		n, a.reply = n-a.reply, n
		a.l.hold(n)
	}
}

// verdict checks that nothing is used at the end.
func (l *limit) verdict() {
	if n := l.budget.Used(); l.held != 0 || n != 0 {
		l.w.fail("the server uses %d bytes at the end, and its limit counts %d", l.held, n)
	}
}

// released gives back the memory of a Request.
func (e *end) released(q *engine.Request) {
	a := e.admitted[q]
	if a == nil {
		return
	}
	delete(e.admitted, q)
	delete(a.l.active, a)
	a.l.hold(-a.own - a.reply)
	a.ticket.End()
}
