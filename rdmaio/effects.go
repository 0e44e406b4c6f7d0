package rdmaio

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/driver"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// owner is a Conn as the owner of its Driver.
type owner struct{ *Conn }

var _ driver.Owner = owner{}

// Fault logs that the peer broke a rule.
func (c owner) Fault(fault error) {
	c.log.Warn("rdmaio: a message broke a rule", "queue_pair", c.qp.Num(), "reason", translate(fault))
}

// Ending returns the reason for the peer.
func (c owner) Ending(why error) verbs.DisconnectReason { return reason(translate(why)) }

// Effects carries out the effects of a step that are not the Driver's up to Return, in the order
// that engine.Effects gives.
func (c owner) Effects(f *engine.Effects) {
	if f.Props != nil && c.role == engine.Requester {
		c.auth.suspect(c.set.HostAuth.Mode, f.Props)
	}
	if f.Fail != nil {
		why := c.explainIdle(c.auth.cause(translate(f.Fail)))
		c.ended(why)
		c.cancel(why)
		c.emitDown()
		c.caller.submits.lose(why)
		c.answerer.end(why)
	}
	if f.Props != nil {
		c.extensions.hear(f.Props)
	}
	if f.Terms != nil {
		c.agree(f.Terms, f.Version)
		if v := f.Version; v != nil && v.Properties() == nil && c.set.HostAuth.Mode == HostAuthWanted {
			c.openAuth(authWaiting) // version 1 has no host authentication
		}
	}
	if f.Props != nil || len(f.Auth) > 0 {
		c.authenticate(f)
	}
	if len(f.Assemble)+len(f.Deliver)+countOthers(f.Others) > 0 && c.early() {
		c.turnAway(f)
	}
	if f.Fail != nil || len(f.Others)+f.OthersSent+f.Resized > 0 {
		c.extensions.extend(f)
	}
	for _, b := range f.Return {
		c.freeSendBuffer(b)
	}
	if len(f.Return) > 0 { // a load is over
		f.Return = nil
		c.caller.slots.trim()
	}
}

// Serve carries out the other effects of a step. A handler that exits the goroutine leaves those
// that are in f still.
func (c owner) Serve(f *engine.Effects) {
	for i, r := range f.Assemble {
		if r != nil {
			f.Assemble[i] = nil
			c.answerer.queueAssembly(r)
		}
	}
	if c.answerer.chunks.asks || c.answerer.shortage.woken.Load() { // there may be more now
		c.answerer.grantWaiting()
	}
	for i, r := range f.Deliver {
		if r != nil {
			f.Deliver[i] = nil
			c.answerer.deliver(r)
		}
	}
	if len(f.Done) > 0 {
		c.complete(f.Done)
		clear(f.Done)
	}
	for i, l := range f.Settled {
		if l != nil {
			f.Settled[i] = nil
			c.caller.dropLeftover(l.(*leftover))
		}
	}
	for a := &c.answerer; a.released < len(f.Release); { // the engine uses the list again
		r := f.Release[a.released]
		a.released++
		a.release(r)
	}
	c.answerer.released = 0
	if n := f.WantBuffers; n > 0 {
		f.WantBuffers = 0
		c.growSendBuffers(n)
	}
}

// complete completes Calls that have their answers.
func (c owner) complete(done []*engine.Call) {
	u := &c.caller.submits
	for _, call := range done {
		if call == nil {
			continue
		}
		if call.Reply != nil || call.LongReply > 0 {
			c.auth.hint = ""
		}
		if s := call.Owner.(*slot); s.state() == posted {
			u.answers = append(u.answers, s)
		} else {
			c.caller.lone.answer(s) // its caller may use the slot again at once
		}
	}
	if len(u.answers) > 0 {
		u.complete()
	}
}

// Due implements driver.Owner.
func (c owner) Due() bool { return c.caller.slots.due.Load() }

// Polling implements driver.Owner.
func (c owner) Polling() bool { return c.caller.lone.polling.Load() }

// Run implements driver.Owner.
func (c owner) Run() { c.caller.submits.runFunctions() }

// PeerFaults emits the event of that name.
func (c owner) PeerFaults(more driver.Faults) {
	if c.set.Events == nil {
		return
	}
	c.emit(&PeerFaults{
		Conn:            c.Conn,
		DroppedMessages: more.DroppedMessages,
		CallsOverCredit: more.CallsOverCredit,
		FaultyMessages:  more.FaultyMessages,
		ZeroGrants:      more.ZeroGrants,
		OverGrants:      more.OverGrants,
	})
}

// CreditsChanged lets the Client serve Calls that wait for a credit.
func (c owner) CreditsChanged() {
	if changed := c.onCredits.Load(); changed != nil {
		(*changed)()
	}
}

// reason returns the disconnect reason for the peer. It says whether the peer was at fault.
func reason(why error) verbs.DisconnectReason {
	var (
		fault  *Fault
		unsent *unsentError
	)
	switch {
	case errors.Is(why, ErrTimeout), errors.Is(why, ErrNoDone), errors.Is(why, ErrMemory):
		return verbs.ReasonTime
	case errors.Is(why, ErrTooManyErrors), errors.Is(why, ErrInvalidated), errors.As(why, &fault):
		return verbs.ReasonRule
	case errors.As(why, &unsent) && unsent.answer: // like ErrTooManyErrors
		return verbs.ReasonRule
	}
	return verbs.ReasonDone
}

// ended logs why a connection is gone. Orderly closes are logged at Debug; for transport failures
// the provider's log has the details.
func (c *Conn) ended(why error) {
	for _, ours := range []error{ErrTimeout, ErrMemory, ErrTooManyErrors, ErrInvalidated, ErrNoDone, ErrNoVersion, ErrNoAnswer, ErrHostAuth, engine.ErrInternal} {
		if errors.Is(why, ours) {
			c.ends.Warn("rdmaio: a connection was given up", "queue_pair", c.qp.Num(), "reason", why)
			return
		}
	}
	c.set.Logger.Debug("rdmaio: connection ended", "queue_pair", c.qp.Num(), "reason", why)
}
