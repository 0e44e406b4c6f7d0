package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Call is an RPC that this side makes. The driver sets the fields up to Offer before EventCall,
// except for those that the engine sets before Effects.Done: Sent, Abandoned, InvalidatedKey and
// the fields after Offer.
type Call struct {
	XID uint32

	// NamedKey is the key in Lists that the Reply may invalidate, where the Call names it
	// (Terms.CallNamesKey), or 0.
	NamedKey uint32

	Long bool // no Payload: the RPC message is in a chunk at position zero

	// Urgent lets the Call have the credit that Config.KeepCredit keeps, and go before those that
	// wait.
	Urgent bool

	Sent           bool   // the peer may have received it
	Abandoned      bool   // cancelled; its chunks are in use until Effects.Settled
	InvalidatedKey uint32 // the key in Lists that the Reply invalidated; 0: none

	Payload [][]byte // bytes after the header, in pieces
	ReplyTo []byte   // memory for an inline reply, used if its capacity is enough
	Owner   any

	// Offer is not nil if the Call offers chunks, or has a Reply with padding. It may be left from
	// an earlier Call, and is empty then. WithOffer makes it.
	*Offer

	Waited    time.Duration // time from EventCall until it was sent, or ended
	Reply     []byte        // inline reply; nil with LongReply
	LongReply int           // length of the reply in the reply chunk
	Err       error
}

// Offer is the part of a Call with chunks. Most Calls do not need it.
type Offer struct {
	Lists   header.Lists // of registered memory, set before EventCall
	Used    []uint64     // number of bytes in each write chunk, set before Effects.Done
	Padding Padding      // of Call.Reply
}

// WithOffer returns the part for a Call with chunks, to be filled in.
func (c *Call) WithOffer() *Offer {
	if c.Offer == nil {
		c.Offer = new(Offer)
	}
	return c.Offer
}

// Offered returns the chunks that the Call offers, or nil.
func (c *Call) Offered() *header.Lists {
	if c.Offer == nil {
		return nil
	}
	return &c.Lists
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
