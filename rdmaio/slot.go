package rdmaio

import (
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// slot holds the state of one Call, of either form: one that blocks, or one that was submitted. It
// has a place on the connection, or waits for one (caller.slots).
type slot struct {
	call engine.Call
	done chan struct{} // has room for one; wakes a Call that blocks: a place, or the answer

	// offered is not nil if the Call offers memory to the peer, or was cancelled. It may be left
	// from an earlier Call, and is empty then. withOffered makes it.
	*offered

	shape      shape
	rpc        *Call
	end        *CallEnd    // nil without Config.Events
	prev, next *slot       // in slots.line
	submit     *submission // nil if it had no Call that was submitted
	sent       bool        // the peer may have received it, in any shape

	// For lone.
	answered   atomic.Bool // the wait for done is over
	polling    atomic.Bool // the caller is in Progress
	isAnswered func() bool // answered.Load
}

// offered is the part of a slot for a Call that offers memory to the peer. Most Calls do not need
// it.
type offered struct {
	chunks      engine.Offer // slot.call.Offer, if the Call has chunks
	regions     []callRegion
	unended     error     // why the key of the first region could not be invalidated
	left        *leftover // if the Call was cancelled
	ownsBuf     bool      // the reply chunk is memory of the connection (Call.MaxReply)
	long        []byte    // a copy of the reply that came there
	replyMemory int       // bytes of replyMemory that the Call has
	keys        revocation
}

// withOffered returns the part for memory that the peer gets. It leaves alone what the engine uses
// of a Call in flight.
func (s *slot) withOffered() *offered {
	if s.offered == nil {
		s.offered = new(offered)
	}
	return s.offered
}

// lists returns the chunks that the Call offers, to be filled in. The Call must not be in flight.
func (s *slot) lists() *header.Lists {
	if o := s.withOffered(); s.call.Offer == nil {
		s.call.Offer = &o.chunks
	}
	return &s.call.Lists
}

// hasRegions reports whether the peer has keys of the Call.
func (s *slot) hasRegions() bool { return s.offered != nil && len(s.regions) > 0 }

func newSlot() *slot {
	s := &slot{done: make(chan struct{}, 1)}
	s.isAnswered = s.answered.Load
	return s
}

// callRegion is a memory region of a Call. chunk is the index in Results, or one of the constants
// below.
type callRegion struct {
	mrpool.Region
	chunk int
}

const (
	replyChunk    = -1
	readChunk     = -2
	ownReplyChunk = -3 // a reply chunk of the connection's memory
)

// filled returns how many bytes of a chunk the peer has written. It is 0 if the Call
// failed.
func (s *slot) filled(chunk int) int {
	e := &s.call
	switch {
	case e.Err != nil || e.Reply == nil && e.LongReply == 0:
	case chunk == replyChunk, chunk == ownReplyChunk:
		return e.LongReply
	case chunk >= 0 && chunk < len(e.Used):
		return int(e.Used[chunk])
	}
	return 0
}

// setReply sets the Reply from the results of the engine. The keys must be invalid.
func (s *slot) setReply(call *Call) error {
	r, e := &call.Reply, &s.call
	r.Message, r.Padding = e.Reply, Padding{}
	var used []uint64
	if e.Offer != nil {
		r.Padding, used = Padding(e.Padding), e.Used
	}
	if e.LongReply > 0 {
		if r.Message = s.long; !s.ownsBuf {
			r.Message = call.ReplyBuf[:e.LongReply]
		}
		xid, typ, _ := header.RPC(r.Message)
		switch {
		case xid != e.XID:
			return &Fault{Code: FaultXID, Where: "reply chunk", Found: uint64(xid), Want: uint64(e.XID)}
		case typ != header.Reply:
			return &Fault{Code: FaultType, Where: "reply chunk", Found: uint64(typ), Want: uint64(header.Reply)}
		}
	}
	clear(r.Items)
	r.Items = r.Items[:0]
	for i, buf := range call.Results {
		var it xdr.Item
		if i < len(used) && used[i] > 0 {
			it.Data = buf[:used[i]]
		}
		r.Items = append(r.Items, it)
	}
	return nil
}

// leftover holds the regions of a cancelled Call whose Reply may still come. Their keys are
// redirected to memory of the pool, where a late access of the peer does no harm, and the caller
// has its memory back (RFC 8166 §4.4.1; R289).
type leftover struct {
	regions []mrpool.Region
	bytes   int

	// halves is 2 when both are done: the caller has redirected the regions, and the engine has
	// seen the Reply or the end of the connection.
	halves atomic.Int32
}

// revocation invalidates the keys of a Call together, with a device that can (verbs.Revoker). Only
// the caller waits for the result, because a peer can delay it.
//
//	Call is over ── Pool.Revoke ──> waiting ── report ──> the keys are invalid
//	                    │               └─ the connection closes ┘
//	                    └─ not supported ──> one key after the other
type revocation struct {
	keys   []verbs.MemoryRegion
	ended  chan error  // has room for one
	report func(error) // to ended
}

// endedByPeer reports whether the reply has invalidated the key of a region (R263).
func (s *slot) endedByPeer(mr *callRegion) bool {
	return s.call.InvalidatedKey != 0 && mr.RKey() == s.call.InvalidatedKey
}
