package engine

import (
	"slices"
	"time"
)

// pending is a Call of ours to which a Reply may still come. Its states, with the events that lead
// from one to the next:
//
//	       EventCall             credit and room            Reply, or error
//	callIdle ────────> callWaiting ────────────> callSent ─────────────────> callIdle
//	                    │     │ first part         ▲  │                        ▲
//	                    │     └──> callSending ────┘  │ Reply with read chunks │
//	                    │            last part        ▼       Reply is read    │
//	                    │ EventCancel             callReading ─────────────────┤
//	                    └──────────────────────────────────────────────────────┘
//
// A Call whose message does not fit goes from callWaiting to callIdle, too. EventCancel of a Call
// that was sent, even in part, sets call to nil and does not change the state: the credit
// is in use until the Reply (R135). When the connection is closed, requester.abandon fails all
// Calls without these steps.
type pending struct {
	state   callState
	xid     uint32
	next    *pending      // in requester.table
	call    *Call         // nil once cancelled
	at      time.Duration // of EventCall
	ticket  uint64        // its place in the queue for send queue entries
	refused error         // an ERROR came before the last part was sent
	left    any           // of a cancelled Call, for Effects.Settled
	keys    []uint32      // offered by a cancelled Call, where its Reply may invalidate one
}

// callState is the state of a pending Call.
type callState uint8

const (
	callIdle    callState = iota // in requester.idle, for the next Call
	callWaiting                  // in requester.waiting, for a credit, then for room to post
	callSending                  // in sendQueue.sequence: parts are sent
	callSent                     // out; a Reply is expected
	callReading                  // its Reply has read chunks (Config.Legacy): see Request
)

var callStates = [...]string{
	callIdle:    "idle",
	callWaiting: "waiting",
	callSending: "sending",
	callSent:    "sent",
	callReading: "reading",
}

// String returns the name of the state.
func (s callState) String() string { return callStates[s] }

// follows reports whether an event leads to s from that state.
func (s callState) follows(from callState) bool {
	switch s {
	case callWaiting:
		return from == callIdle
	case callSending:
		return from == callWaiting
	case callSent:
		return from == callWaiting || from == callSending
	case callReading:
		return from == callSent
	}
	return from != callIdle
}

// offered reports whether the peer may invalidate this key of the Call: the key that the Call
// named, or any key, if it names none.
func (p *pending) offered(key uint32, named bool) bool {
	switch {
	case p.call == nil:
		return slices.Contains(p.keys, key)
	case named:
		return key == p.call.NamedKey
	}
	return p.call.Offer != nil && p.call.Lists.HasKey(key)
}

// outstanding reports whether a Reply to the Call is expected; p may be nil.
func (p *pending) outstanding() bool {
	return p != nil && (p.state == callSent || p.state == callSending)
}
