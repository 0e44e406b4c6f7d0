package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The events, with the fields of Event that they use.
const (
	// EventStart: the queue pair exists. It is the first event, once.
	EventStart EventKind = iota

	// EventTerms: Control.Terms are negotiated, before the first message in either direction, or
	// later when both ends have changed them.
	EventTerms

	// EventOpen: the connection is up at the end that dialed, which may send.
	EventOpen

	EventCompletion // WC was polled
	EventCall       // Call is to be sent

	// EventCancel: the caller of Call, XID no longer waits. Control.Left, if there is a Control, is
	// for Effects.Settled.
	EventCancel

	EventAssembly // Request.Assembly is set, or Err has the reason why not
	EventReply    // Request.Answer is set
	EventBuffers  // Control.Buffers answers Effects.WantBuffers
	EventTimer    // the time in Effects.Deadline has come

	// EventBroken: the queue pair is in its error state, or a post or request failed, with Err. WC
	// is set for a failed request of the send queue.
	EventBroken

	// EventProperties: Control.Props are to be sent, with the properties of this end.
	EventProperties

	// EventOther: Control.Other is to be sent: a message of an extension or, if its Err is set, an
	// error.
	EventOther

	// EventReceiveSize: Receives that are posted from now on have Control.Size bytes. The peer
	// keeps to a smaller size already. Effects.Resized says when no smaller ones are posted.
	EventReceiveSize

	// EventSendSize: no message of this end may be longer than Control.Size bytes, whatever the
	// properties say. If zero, the properties decide.
	EventSendSize

	// EventRestrict: Control.Restrict holds from now on, whatever the properties say.
	EventRestrict

	EventEffects // no input: the driver wants the call for the effects

	// EventSpend: the credit that Config.KeepCredit kept is free for all Calls from now on.
	EventSpend

	// EventProbe: the peer's end is asked for a sign of life within Control.Limit. If there is no
	// Control, the only limit is Config.ChainTimeout.
	EventProbe

	EventClose // this side closes the connection, with Err

	// EventDrain is EventClose after all posted requests have completed. No handler has a Request
	// any more.
	EventDrain
)

// Event is an input of Step.
type Event struct {
	Kind    EventKind
	XID     uint32 // by value: a cancelled Call is not read
	Call    *Call
	Request *Request
	WC      *verbs.WC // valid during Step
	Err     error
	Control *Control
}

// Control has the inputs of the rarer events, so that an Event, which is copied, is small.
type Control struct {
	Terms    *header.Terms
	Buffers  []*Buffer // at most the wanted number of send buffers; none if there is no memory
	Left     any
	Props    []header.Property
	Other    Other
	Size     int
	Limit    time.Duration
	Restrict Restrict
}

// Restrict holds less than what the terms allow.
type Restrict struct {
	// NoInvalidate stops this end from invalidating keys of Calls that it answers.
	NoInvalidate bool
	// Reverse is the most support for reverse Calls at the end that receives them. If nil, the
	// terms decide.
	Reverse *header.Reverse
}
