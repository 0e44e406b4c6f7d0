package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Request is a Call that a responder received.
type Request struct {
	XID   uint32
	Lists header.Lists // what the peer offers for the reply; no Reads

	// Message is the Call as its sender had it, chunks in place; Placed says where
	// those are. It is a part of a Receive buffer, or of Assembly.
	Message []byte
	Placed  []chunk.Placed
	Padding Padding // of Message

	// AssemblySize is the length of the message to be assembled, in bytes, set with Effects.Assemble. AssemblyLead is
	// the offset in a cache-aligned buffer that aligns the first chunk to a cache line. AssemblyFilled is the number
	// of bytes that Assembly has already.
	AssemblySize, AssemblyLead, AssemblyFilled int

	// Assembly is the assembly buffer that EventAssembly brings. It may be shorter than AssemblySize, but must be
	// longer than AssemblyFilled: when it is full the engine asks for a longer one, whose first AssemblyFilled bytes
	// must be those of the buffer before.
	Assembly Buffer

	Answer Answer // what EventReply brings
	Owner  any    // the driver's

	// Err is, with Release, why the answer was not sent; nil if it was.
	Err error

	// Refused is, with Release, why a Call was answered by RDMA_ERROR that was not delivered.
	Refused error

	hdr    header.Message
	plan   chunk.Plan
	recv   int    // its Receive, until that is posted again
	ticket uint64 // its place in the queue for send queue entries

	// With Config.Legacy.
	reply     *pending      // it is no Call but a Reply to ours, with read chunks, and then RDMA_DONE
	posted    bool          // its answer has read chunks, and the Send has not completed
	deadline  time.Duration // for RDMA_DONE
	key       uint32        // of its lists, to be ended with the Reply; 0: none
	transfers []transfer
	pulling   bool // queued or posted as RDMA Reads
	reads     int  // RDMA Reads that fill Assembly
	unread    int  // of those, how many wait for their time
	batch     int  // and how many come next
	batchSize int  // bytes that the batch in progress brings
}

// Answer is a reply, or a refusal. Its memory belongs to the engine until Release.
type Answer struct {
	// Refuse sends RDMA_ERROR with this code instead of a reply.
	Refuse header.ErrorCode
	// Drop sends nothing at all: to the requester the Call stays unanswered, and its credit in use.
	Drop bool

	Payload [][]byte // inline reply, in pieces

	// Long is the reply in registered memory: it goes to the reply chunk, and Payload is ignored.
	Long verbs.SGE
	// Reads are read chunks of the reply (Config.Legacy), of memory that the peer may read until
	// Release. Those of position zero take the place of Payload.
	Reads []header.ReadSegment
	// Data is for each write chunk what goes there; a zero length leaves it unused. Its length is that of Lists.Writes.
	Data []verbs.SGE
}

// transfer is an RDMA Write to be posted.
type transfer struct {
	sge    verbs.SGE
	remote header.Segment
}

// reset makes a Request like new, with its memory.
func (r *Request) reset() {
	r.hdr.Reset()
	clear(r.transfers)
	clear(r.Answer.Data)
	clear(r.Answer.Payload)
	*r = Request{
		hdr: r.hdr, plan: r.plan, transfers: r.transfers[:0], recv: none,
		Answer: Answer{Data: r.Answer.Data[:0], Payload: r.Answer.Payload[:0], Reads: r.Answer.Reads[:0]},
	}
}

// none is no index.
const none = -1
