package engine

import (
	"cmp"
	"fmt"
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

// PeerError is what the peer found wrong with a message of ours, in its own
// words: an RDMA_ERROR (RFC 8166 §4.5). Compare header.Fault, which is what we found.
type PeerError struct {
	Code      header.ErrorCode // 0: it could not be decoded
	Low, High uint32           // with ErrVers, the versions it supports
}

// Error names the code.
func (e *PeerError) Error() string {
	switch e.Code {
	case header.ErrVers:
		return fmt.Sprintf("rpcrdma: peer answered ERR_VERS: it supports versions %d to %d", e.Low, e.High)
	case header.ErrChunk:
		return "rpcrdma: peer answered ERR_CHUNK: it could not use our header or chunks, or its reply did not fit them"
	case 0:
		return "rpcrdma: peer answered RDMA_ERROR with a body that cannot be decoded"
	}
	return fmt.Sprintf("rpcrdma: peer answered RDMA_ERROR with code %d, which we do not know", e.Code)
}

// SizeError says that a message does not fit.
type SizeError struct {
	What        string
	Need, Limit int
	Unit        string // empty is bytes
	Hint        string // what to do
}

// Error gives both sizes and the hint.
func (e *SizeError) Error() string {
	return fmt.Sprintf("rpcrdma: %s needs %d %s, limit is %d: %s", e.What, e.Need, cmp.Or(e.Unit, "bytes"), e.Limit, e.Hint)
}
