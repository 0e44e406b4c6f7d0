package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// EventKind says what happened.
type EventKind uint8

// The events, with the fields of Event that they use.
const (
	EventStart      EventKind = iota // the queue pair exists: once, first
	EventTerms                       // Terms are known: before the first message either way, or when both ends agreed on others
	EventCompletion                  // WC was polled
	EventCall                        // Call is to be sent
	EventCancel                      // Call, XID: its caller waits no longer. Left: as in Effects.Settled
	EventAssembly                    // Request.Assembly is set, or Err says why not
	EventReply                       // Request.Answer is set
	EventBuffers                     // Buffers answers Effects.WantBuffers
	EventTimer                       // the time in Effects.Deadline has come
	EventBroken                      // the queue pair is in its error state, or a post or request failed: Err; WC, if it was one of the send queue
	EventClose                       // this side wants no more: Err
	EventDrain                       // the same, once all that was posted has completed; no handler has a Request any more
)

// Event is something that happened.
type Event struct {
	Kind    EventKind
	XID     uint32 // by value: a cancelled Call is not looked into
	Call    *Call
	Request *Request
	WC      *verbs.WC // read while Step runs
	Terms   *header.Terms
	Buffers []*Buffer // that many send buffers or fewer, none if there is no memory
	Left    any
	Err     error
}
