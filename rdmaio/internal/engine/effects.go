package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Effects lists the work for the driver, to be done in this order. The slices belong to the engine,
// which reuses them in the next Step.
type Effects struct {
	Recvs []verbs.RecvWR // post these
	Sends []verbs.SendWR // then these, in one post

	// Fail, if not nil, closes the connection: the driver disconnects the queue pair before the
	// following effects. It is set once.
	Fail error

	// Fault, if not nil, is the last fault in a message from the peer in this Step, for a log.
	Fault *header.Fault

	// Terms, if not nil, are the terms that hold now, until the next Step. Version is the version
	// of the connection, or nil while it is not known.
	Terms   *header.Terms
	Version protocol.Version

	// Props is the peer's set of properties that was applied. It is set in one Step only. Auth has
	// the host authentication messages of later sets. The engine does not reuse the memory that
	// Props and Auth refer to.
	Props []header.Property
	Auth  [][]byte

	// Others has the messages of extensions, and the errors that are about none of our Calls.
	Others []Other

	// OthersSent counts the messages of EventOther that were posted, or are in Others with
	// Unsent.
	OthersSent int

	// Resized is the size of the last EventReceiveSize, once no smaller Receive is posted. It is 0
	// in all other Steps.
	Resized int

	Return []*Buffer // borrowed, no longer needed

	// Assemble lists Requests that need memory: the driver sets Assembly, of AssemblySize bytes or
	// fewer, and sends EventAssembly.
	Assemble []*Request

	Deliver []*Request // run the handler; it is followed by EventReply, once
	Done    []*Call    // complete: the caller may continue
	Settled []any      // Control.Left of cancelled Calls whose offers the peer no longer uses
	Release []*Request // answered or lost: no longer in use

	// WantBuffers is the number of further send buffers that would be useful. EventBuffers answers
	// it, once.
	WantBuffers int

	// Await requests completions of the send queue as they arrive. Otherwise the driver may bring
	// them with the next Receive, or with EventTimer: before it, in the same Step.
	Await bool

	// Deadline is the time for EventTimer, on the clock of Step. Zero means no timer.
	Deadline time.Duration
}

// Other is a message of an extension: a header type that the version itself does not define, or an
// error that may be about one.
type Other struct {
	XID     uint32
	Type    uint32 // header type; 0 with Err
	Flags   uint32
	Answer  bool         // the receiver has made the XID
	Body    any          // decoded, of a received message
	Payload []byte       // all that follows the prefix, and Body in a received message
	Err     header.Error // if its Code is not 0, the message is an ERROR

	// Unsent is the reason why this message of EventOther, without its Payload, was not sent. If
	// nil, the message was received.
	Unsent error
}

// reset empties the effects. Most Steps have few of them, and the others need no work.
func (f *Effects) reset() {
	empty(&f.Recvs)
	empty(&f.Sends)
	empty(&f.Assemble)
	empty(&f.Deliver)
	empty(&f.Done)
	empty(&f.Settled)
	empty(&f.Release)
	empty(&f.Return)
	empty(&f.Others)
	empty(&f.Auth)
	if f.Terms != nil {
		f.Terms, f.Version = nil, nil
	}
	if f.Fail != nil {
		f.Fail = nil
	}
	if f.Fault != nil {
		f.Fault = nil
	}
	if f.Props != nil {
		f.Props = nil
	}
	f.Resized, f.OthersSent, f.Await, f.WantBuffers, f.Deadline = 0, 0, false, 0, 0
}

// trim frees the memory of slices that are empty.
func (f *Effects) trim() {
	trim(&f.Recvs)
	trim(&f.Sends)
	trim(&f.Assemble)
	trim(&f.Deliver)
	trim(&f.Done)
	trim(&f.Settled)
	trim(&f.Release)
}
