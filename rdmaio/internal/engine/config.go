package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Role is what this end of the connection is in the forward direction, which is that of the side
// that dialed. Either end may also be the other thing in the reverse direction (RFC 8167 §2.3).
type Role uint8

// The roles.
const (
	Requester Role = iota // dialed: its Calls are the forward ones
	Responder             // accepted: its Calls, if it makes any, are the reverse ones
)

// Buffer is registered memory, as much as one inline message may have.
type Buffer struct {
	MR     verbs.MemoryRegion
	Offset int // of the first byte in MR
	Bytes  []byte
	Owner  any // the lender's

	borrowed bool
}

// sge names the first n bytes of the buffer.
func (b *Buffer) sge(n int) verbs.SGE { return verbs.SGE{MR: b.MR, Offset: b.Offset, Length: n} }

// Config is what an Engine is made with; every field must be set.
type Config struct {
	Role Role

	// Calls is how many credits this side asks for with its own Calls; with 0 it must make none.
	// Serves is how many it grants at most; with 0 it serves no Calls. The two are separate (R266).
	Calls, Serves int

	// ReverseChunks: chunks work in the reverse direction as they do in the other.
	// Without it a reverse Call that has any is refused (RFC 8167 §5.3; R277).
	ReverseChunks bool

	// Legacy: forward Replies may have read chunks, which are followed by RDMA_DONE, and RDMA_MSGP
	// is understood, as draft-ietf-nfsv4-rpcrdma-08 has it and RFC 8166 has not.
	Legacy bool

	// DoneTimeout is how long a peer may take to read such a Reply, and to say so.
	DoneTimeout time.Duration

	// Recv has Calls + Serves elements (R270, R271), which any message may use, and another Serves
	// of them at a Responder with Legacy, for RDMA_DONE (R107). They are as large as the terms may
	// come to be, those of Send too.
	Recv []Buffer

	// Send are the buffers for what is sent that the engine has for good, at least one. MaxBorrowed
	// is how many more it may borrow while messages wait for one (Effects.WantBuffers).
	Send        []Buffer
	MaxBorrowed int

	// SendWRs is the size of the send queue.
	SendWRs int

	// Limits are for Calls received.
	Limits chunk.Limits

	// MaxErrors is how many Calls a second may be answered by RDMA_ERROR; 0 is no limit.
	MaxErrors int

	// ChainTimeout is how long a chain of posted requests may take; after that
	// the connection is given up (T50, T128). 0 is forever.
	ChainTimeout time.Duration
}

// Flow counts the RPCs of one direction. Calls and Replies only grow.
type Flow struct {
	Calls, Replies uint64 // Calls sent, or received where they are served; and their replies
	InFlight       int    // Calls sent and not answered, or received and not answered
	Granted        int    // credits that we have for our Calls; where Calls are served, the last grant
}

// Stats counts what happened. All only grow but those of state.
type Stats struct {
	Flow         // the forward direction
	Reverse Flow // the other

	Sent, Received          uint64 // messages
	ErrorMessages           uint64 // RDMA_ERROR messages, sent about Calls or received about our own
	DroppedMessages         uint64 // messages received that nothing was done about
	CallsOverCredit         uint64 // of them Calls beyond what was granted
	FaultyMessages          uint64 // messages received that broke a rule
	BytesRead, BytesWritten uint64 // bytes by RDMA Read (completed) and RDMA Write, for Calls received
	ZeroGrants              uint64 // grants of 0, taken as 1
	OverGrants              uint64 // grants over what was asked for, cut
	DoneMessages            uint64 // RDMA_DONE messages sent, or received where one was due
	DelayedCalls            uint64 // our Calls that had to wait: for a credit, for room in the send queue, for others before them
	RemoteInvalidations     uint64 // keys ended by a Reply: those of the requester, by the responder

	// State.
	Abandoned       int // our Calls in flight that nobody waits for: each has a credit
	Waiting         int // Calls that wait for a credit, and answers for room in the send queue
	DoneMessagesDue int // Replies that the peer is still to read
	PostedRecvs     int // Receives
	SendQueueFilled int // entries of the send queue in use, or not known to be free
}
