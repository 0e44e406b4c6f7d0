package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Call is an RPC that this side makes. The driver sets the fields up to Owner before EventCall. The
// engine sets the fields after Owner before Effects.Done.
type Call struct {
	XID     uint32
	Lists   header.Lists // chunks that it offers, of registered memory
	Long    bool         // no Payload: the RPC message is in a chunk at position zero
	Payload [][]byte     // bytes after the header, in pieces
	ReplyTo []byte       // memory for an inline reply, used if its capacity is enough
	Owner   any

	// Urgent lets the Call have the credit that Config.KeepCredit keeps, and go before those that
	// wait.
	Urgent bool

	// NamedKey is the key in Lists that the Reply may invalidate, where the Call names it
	// (Terms.CallNamesKey), or 0.
	NamedKey uint32

	Err            error
	Sent           bool          // the peer may have received it
	Waited         time.Duration // time from EventCall until it was sent, or ended
	Reply          []byte        // inline reply; nil with LongReply
	LongReply      int           // length of the reply in the reply chunk
	Used           []uint64      // number of bytes in each write chunk
	Abandoned      bool          // cancelled; its chunks are in use until Effects.Settled
	InvalidatedKey uint32        // the key in Lists that the Reply invalidated; 0: none
	Padding        Padding       // of Reply
}

// Forget makes the Call refer to no memory other than its slices.
func (c *Call) Forget() {
	empty(&c.Payload)
	c.ReplyTo, c.Reply, c.Owner, c.Err = nil, nil, nil, nil
}

// setReply sets the Reply to a copy of b, unless the joiner has put it in ReplyTo already.
func (c *Call) setReply(b []byte) {
	if len(b) > 0 && len(b) <= cap(c.ReplyTo) && &b[0] == &c.ReplyTo[:1][0] {
		c.Reply = b
		return
	}
	c.Reply = append(c.ReplyTo[:0], b...)
}

// Padding describes the padding of a message that was sent as RDMA_MSGP. An Align of 0 means
// no padding.
type Padding struct {
	Align, Threshold uint32
	Start            int // offset of the RPC message in the message
}
