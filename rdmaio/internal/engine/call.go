package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Call is an RPC that this side makes. The fields up to Owner are the
// caller's to set before EventCall, those after it the engine's before Done.
type Call struct {
	XID     uint32
	Lists   header.Lists // what it offers; segments of registered memory
	Long    bool         // no Payload: a chunk at position zero has it
	Payload [][]byte     // what follows the header, in pieces
	ReplyTo []byte       // an inline reply is put here if it fits its capacity
	Owner   any

	Err       error
	Sent      bool          // the peer may have it
	Waited    time.Duration // from EventCall until it was sent, or ended
	Reply     []byte        // inline reply; nil with LongReply
	LongReply int           // bytes of the reply chunk that hold the reply
	Used      []uint64      // bytes in each write chunk
	Abandoned bool          // it was cancelled, and the peer may still use what it offered: see Effects.Settled
	Ended     uint32        // the key in Lists that the peer ended with its Reply; 0: none
	Padding   Padding       // of Reply
}

// Padding is that of a message which came as RDMA_MSGP; there is none if Align is 0.
type Padding struct {
	Align, Threshold uint32
	Start            int // offset of the RPC message in the whole one, header included
}
