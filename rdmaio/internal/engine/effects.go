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

	// Fail, if not nil, ends the connection: the driver disconnects the queue pair before the
	// following effects. It is set once.
	Fail error

	// Fault, if not nil, is the last fault of a message of the peer in this Step, for a log.
	Fault *header.Fault

	// Terms, if not nil, are the terms that hold now, until the next Step. Version is the version
	// of the connection, or nil while it is not known.
	Terms   *header.Terms
	Version protocol.Version

	// Auth has the host authentication messages of the peer.
	Auth [][]byte

	// Others has the messages of extensions, and the errors that are about none of our Calls.
	Others []Other

	// Resized is set when all posted Receives have the size of the last EventReceiveSize.
	Resized bool

	Return []*Buffer // borrowed, no longer needed

	// Assemble lists Requests that need memory: the driver sets Assembly, of AssemblySize bytes or
	// fewer, and sends EventAssembly.
	Assemble []*Request

	Deliver []*Request // run the handler; it is followed by EventReply, once
	Done    []*Call    // ended: the caller may go on
	Settled []any      // Event.Left of cancelled Calls whose offers the peer no longer uses
	Release []*Request // answered or lost: no longer in use

	// WantBuffers is the number of further send buffers that would be useful. EventBuffers answers
	// it, once.
	WantBuffers int

	// Await requests completions of the send queue as they arrive. Otherwise the driver may bring
	// them with the next Receive, or with EventTimer: before it, in the same Step.
	Await bool

	// Deadline is the time for EventTimer, on the clock of Step. If zero, there is none.
	Deadline time.Duration
}

// Other is a message of an extension: a header type that the version itself does not define, or an
// error that may be about one.
type Other struct {
	XID     uint32
	Type    uint32 // header type; 0 with Err
	Flags   uint32
	Answer  bool         // the receiver has made the XID
	Payload []byte       // all that follows the prefix
	Err     header.Error // if its Code is not 0, the message is an ERROR
}

func (f *Effects) reset() {
	clear(f.Sends)
	clear(f.Recvs)
	clear(f.Assemble)
	clear(f.Deliver)
	clear(f.Done)
	clear(f.Settled)
	clear(f.Release)
	clear(f.Return)
	clear(f.Others)
	clear(f.Auth)
	*f = Effects{
		Recvs: f.Recvs[:0], Sends: f.Sends[:0], Assemble: f.Assemble[:0],
		Deliver: f.Deliver[:0], Done: f.Done[:0], Settled: f.Settled[:0], Release: f.Release[:0], Return: f.Return[:0], Others: f.Others[:0], Auth: f.Auth[:0],
	}
}
