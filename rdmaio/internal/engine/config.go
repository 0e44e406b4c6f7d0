package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Role is what this end of the connection does.
type Role uint8

// The roles.
const (
	Requester Role = iota // makes Calls
	Responder             // answers them
)

// Buffer is registered memory, as much as one inline message may have.
type Buffer struct {
	MR     verbs.MemoryRegion
	Offset int // of the first byte in MR
	Bytes  []byte
}

// sge names the first n bytes of the buffer.
func (b *Buffer) sge(n int) verbs.SGE { return verbs.SGE{MR: b.MR, Offset: b.Offset, Length: n} }

// Config is what an Engine is made with; every field must be set.
type Config struct {
	Role Role

	// Credits are requested by a requester and granted, at most, by a responder: one
	// for each element of Recv. Buffers are as large as the terms may come to be.
	Send, Recv []Buffer

	// SendWRs is the size of the send queue.
	SendWRs int

	// Limits are for Calls received.
	Limits chunk.Limits

	// ChainTimeout is how long a chain of posted requests may take; after that
	// the connection is given up (T50, T128). 0 is forever.
	ChainTimeout time.Duration
}

// Stats counts what happened. All only grow but the last four.
type Stats struct {
	Sent, Received  uint64 // messages
	Calls, Replies  uint64 // sent by a requester, received by a responder; and their replies
	Errors          uint64 // RDMA_ERROR messages: sent by a responder, received by a requester
	Dropped         uint64 // messages received that nothing was done about
	Faults          uint64 // messages received that broke a rule
	Pulled, Pushed  uint64 // bytes by RDMA Read and RDMA Write, at a responder
	ZeroGrants      uint64 // grants of 0, taken as 1
	OverGrants      uint64 // grants over what was asked for, cut
	RemoteEnds      uint64 // keys ended by a Reply: those of the requester, by the responder
	InFlight        int    // Calls sent and not answered, or received and not answered
	Granted         int    // credits the requester has; of a responder: its last grant
	Waiting         int    // Calls that wait for a credit, or answers for room in the send queue
	PostedRecvs     int    // Receives
	SendQueueFilled int    // entries of the send queue in use
}
