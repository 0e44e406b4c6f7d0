package xchar

import wire "github.com/rpcrdma/rpcrdma/gen/xchar"

// Decision is the answer of a Policy to a requested change.
type Decision int

// The decisions.
const (
	// Reject leaves the characteristic unchanged.
	Reject Decision = iota

	// Accept makes the change: at once, or for a larger receive size, after the older Receives are
	// consumed.
	Accept

	// Defer leaves the request pending until Endpoint.Settle.
	Defer
)

// Policy decides about the changes that the peer requests of this endpoint. Its methods are called
// within Endpoint.Receive and must not call the Endpoint. They are not called for characteristics
// in Config.Fixed, nor for a request of the present value, which is done at once.
type Policy interface {
	// CutReceiveSize decides about a receive size below the present one, in bytes. The peer may
	// request any size, 0 included: reject sizes that the connection cannot work with.
	CutReceiveSize(from, to uint32) Decision

	// RaiseReceiveSize decides about a receive size above the present one, in bytes. The peer may
	// request any size: reject sizes for which there is no memory.
	RaiseReceiveSize(from, to uint32) Decision

	// Invalidation decides whether remote invalidation is accepted from now on, or no longer.
	Invalidation(accepted bool) Decision

	// Backward decides about a level of support for backward requests.
	Backward(from, to wire.BackwardSupport) Decision
}

// RejectAll is a Policy that rejects all changes. Embed it in a Policy that accepts some.
type RejectAll struct{}

// CutReceiveSize returns Reject.
func (RejectAll) CutReceiveSize(from, to uint32) Decision { return Reject }

// RaiseReceiveSize returns Reject.
func (RejectAll) RaiseReceiveSize(from, to uint32) Decision { return Reject }

// Invalidation returns Reject.
func (RejectAll) Invalidation(accepted bool) Decision { return Reject }

// Backward returns Reject.
func (RejectAll) Backward(from, to wire.BackwardSupport) Decision { return Reject }

// decide asks the policy about a change to word.
func (e *Endpoint) decide(s slot, word uint32) Decision {
	from := e.own[s].word
	switch p := e.cfg.Policy; {
	case s == invalidation:
		return p.Invalidation(word != 0)
	case s == backward:
		return p.Backward(wire.BackwardSupport(from), wire.BackwardSupport(word))
	case word < from:
		return p.CutReceiveSize(from, word)
	default:
		return p.RaiseReceiveSize(from, word)
	}
}
