package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Effects are what is to be done, in this order. The slices are the engine's, used
// again by the next Step.
type Effects struct {
	Recvs []verbs.RecvWR // post these
	Sends []verbs.SendWR // then these, in one go

	// Fail, if not nil, ends the connection: disconnect the queue pair before what follows.
	// It is given once.
	Fail error

	// Fault, if not nil, is what was wrong with a message of the peer, for a log: the last one of the Step.
	Fault *header.Fault

	Return []*Buffer // borrowed, no longer needed

	Assemble []*Request // give each memory: Assembly of AssemblySize bytes or fewer, and EventAssembly
	Deliver  []*Request // run the handler; EventReply is to follow, once
	Done     []*Call    // ended: the caller may go on
	Settled  []any      // Event.Left of cancelled Calls: the peer uses what they offered no longer
	Release  []*Request // answered or lost: nothing of it is used any more

	// WantBuffers is how many send buffers would be of use besides those that there are: EventBuffers is to follow, once.
	WantBuffers int

	// Await says that completions of the send queue are wanted as they come. Otherwise they may be
	// brought with the next Receive, or with EventTimer: before it, in the same Step.
	Await bool

	// Deadline is when EventTimer is wanted, on the clock of Step; 0 is never.
	Deadline time.Duration
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
	*f = Effects{
		Recvs: f.Recvs[:0], Sends: f.Sends[:0], Assemble: f.Assemble[:0],
		Deliver: f.Deliver[:0], Done: f.Done[:0], Settled: f.Settled[:0], Release: f.Release[:0], Return: f.Return[:0],
	}
}
