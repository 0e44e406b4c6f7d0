package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Request is a message of the peer that the engine works on for more than one Step: a Call to be
// answered or, with Config.Legacy, a Reply with read chunks to a Call of ours. Its states, with the
// events that lead from one to the next:
//
//	    message            no chunks
//	idle ─────> received ─────────────────────────────────────────────> delivered
//	               │ chunks: Effects.Assemble                               ▲
//	               ▼                                        message is whole│
//	     ┌───> assembling ──────────────────────────────────────────────────┤
//	     │         │ EventAssembly, and there are RDMA Reads                │
//	     │         ▼                                                        │
//	     │     readDeferred <────────────────────────────┐                  │
//	     │         │ the peer's read depth has room      │                  │
//	     │         ▼                                     │ RDMA Reads remain│
//	     │     readQueued                                │                  │
//	     │         │ the send queue has room             │                  │
//	     │         ▼         batch completed             │                  │
//	     └────  reading ─────────────────────────────────┴──────────────────┘
//	 Assembly is full, message is not whole (this leads from assembling to itself, too)
//
//	         EventReply          room          Send completed
//	delivered ────────> queued ─────> sent ───────────────────────────> released
//	   │ EventReply       ▲  │         ▲                                   ▲
//	   │ with read chunks │  │ room,   │ RDMA_DONE                         │ RDMA_DONE
//	   ▼                  │  │ Reads   │        Send completed             │
//	deferred ─────────────┘  └──> sentReads ───────────────────────> awaitingDone
//	   a Receive is free for its RDMA_DONE
//
// These transitions are not drawn:
//
//   - A Call that is refused goes to queued, with RDMA_ERROR as its answer, from received,
//     assembling, readDeferred, reading or delivered.
//   - A Reply that is continued goes to sending with its first part, and to sent with its last.
//   - An answer with Drop goes from delivered to released.
//   - An answer whose bytes are all copied to the send buffer goes from sent to released at the end
//     of the Step that posts it.
//   - A Reply is never delivered. When it is whole, or cannot be used, it goes to doneQueued from
//     the same states as a refused Call, except delivered. When RDMA_DONE is posted it goes to
//     doneSent, and when that Send has completed to released.
//   - When the connection closes, every Request goes to released, the driver's Requests at their
//     EventAssembly or EventReply.
//
// The Step after the one that releases a Request makes it idle.
type Request struct {
	XID uint32

	// Message is the Call with its chunks in place, at the ranges in Chunks.Placed. It is a part of
	// a Receive buffer, or of Chunks.Assembly.
	Message []byte
	Padding Padding // of Message

	// Chunks is not nil if the message has chunks. It may be left from an earlier message, and is
	// empty then.
	*Chunks

	Answer Answer // set by the driver before EventReply
	Owner  any    // the driver's

	// Err is valid after Effects.Release. It is nil if the answer was sent, or else says why not.
	Err error

	// Refused is valid after Effects.Release. It says why the engine refused the Call with
	// RDMA_ERROR instead of delivering it; otherwise it is nil.
	Refused error

	state    requestState // changed by responder.to only
	key      uint32       // of its lists, to be invalidated by the Reply; 0: none
	hdr      header.Message
	source   source        // of the message
	ticket   uint64        // its place in the queue for send queue entries
	reply    *pending      // the Call that it is the Reply to, until it is read; nil: it is a Call
	deadline time.Duration // of sentReads and awaitingDone
}

// Chunks is the part of a Request that only a message with chunks has. It makes a Request half as
// large for all others.
type Chunks struct {
	Placed []chunk.Placed // see Request.Message

	// AssemblySize is the length of the message to be assembled, in bytes, set with
	// Effects.Assemble. AssemblyLead is the offset in a cache-aligned buffer that aligns the first
	// chunk to a cache line. AssemblyFilled is the number of bytes that Assembly has already.
	AssemblySize, AssemblyLead, AssemblyFilled int

	// Assembly is the assembly buffer, set by the driver before EventAssembly. It may be shorter
	// than AssemblySize, but must be longer than AssemblyFilled: when it is full the engine asks
	// for a longer one, whose first AssemblyFilled bytes must be copied from the buffer before.
	Assembly Buffer

	plan    chunk.Plan
	pulling pulling // from assembling to reading

	// From queued.
	transfers []transfer
	written   int // of transfers: posted, in batches before the others
}

// Offered returns the lists of chunks that the peer offers: Writes and the Reply chunk, no Reads.
// It may be called from Effects.Deliver to EventReply.
func (r *Request) Offered() *header.Lists { return &r.hdr.Lists }

// Places returns the ranges of Message that came by chunk.
func (r *Request) Places() []chunk.Placed {
	if r.Chunks == nil {
		return nil
	}
	return r.Placed
}

// withChunks prepares r for a message with chunks.
func (r *Request) withChunks() {
	if r.Chunks == nil {
		r.Chunks = new(Chunks)
	}
}

// unwritten counts the answer's RDMA Writes that are not posted.
func (r *Request) unwritten() int {
	if r.Chunks == nil {
		return 0
	}
	return len(r.transfers) - r.written
}

// dropWrites forgets the answer's RDMA Writes that are not posted.
func (r *Request) dropWrites() {
	if r.Chunks != nil {
		r.transfers = r.transfers[:r.written]
	}
}

// reset empties the part. Its slices keep their memory. plan is set for each message.
func (c *Chunks) reset() {
	empty(&c.transfers)
	c.Placed, c.Assembly = nil, Buffer{}
	c.AssemblySize, c.AssemblyLead, c.AssemblyFilled, c.written = 0, 0, 0, 0
	c.pulling = pulling{}
}

// requestState is the state of a Request. The comments say what holds the Request in each state: a
// list of the engine, or the driver.
type requestState uint8

const (
	idle         requestState = iota // responder.next or responder.idle
	received                         // being checked, within a Step
	assembling                       // the driver's, until EventAssembly
	readDeferred                     // responder.pulls
	readQueued                       // responder.answers
	reading                          // sendQueue.chains
	delivered                        // the driver's, until EventReply
	deferred                         // responder.deferred
	queued                           // responder.answers
	sending                          // sendQueue.sequence: parts are sent
	sent                             // sendQueue.chains, or responder.copied if wholly copied
	sentReads                        // sendQueue.chains and responder.awaitingDone
	awaitingDone                     // responder.awaitingDone
	doneQueued                       // responder.answers
	doneSent                         // sendQueue.chains
	released                         // Effects.Release
)

var requestStates = [...]string{
	idle:         "idle",
	received:     "received",
	assembling:   "assembling",
	readDeferred: "readDeferred",
	readQueued:   "readQueued",
	reading:      "reading",
	delivered:    "delivered",
	deferred:     "deferred",
	queued:       "queued",
	sending:      "sending",
	sent:         "sent",
	sentReads:    "sentReads",
	awaitingDone: "awaitingDone",
	doneQueued:   "doneQueued",
	doneSent:     "doneSent",
	released:     "released",
}

// String returns the name of the state.
func (s requestState) String() string { return requestStates[s] }

// follows reports whether an event leads to s from that state.
func (s requestState) follows(from requestState) bool {
	switch s {
	case received:
		return from == idle
	case assembling:
		return from == received || from == assembling || from == reading
	case readDeferred:
		return from == assembling || from == reading
	case readQueued:
		return from == readDeferred
	case reading:
		return from == readQueued
	case delivered:
		return from == received || from == assembling || from == reading
	case deferred:
		return from == delivered
	case queued:
		return from == deferred || from == delivered || from.refusable()
	case sending:
		return from == queued
	case sent:
		return from == queued || from == sending || from == sentReads
	case sentReads:
		return from == queued
	case awaitingDone:
		return from == sentReads
	case doneQueued:
		return from.refusable()
	case doneSent:
		return from == doneQueued
	case released:
		return from != idle && from != released
	}
	return false
}

// InReceive reports whether Message is a part of a Receive buffer. The engine posts that buffer
// again with the answer. InReceive may be called from Effects.Deliver to EventReply.
func (r *Request) InReceive() bool {
	return r.source.recv != none && r.source.loan == nil && (r.Chunks == nil || r.Assembly.Bytes == nil)
}

// ReturnLoan returns the memory that the provider lent for r. After Effects.Release the driver
// calls it when it does not use Message any more. The next Step does it in any case.
func (r *Request) ReturnLoan() { returnLoan(&r.source.loan) }

// refusable reports whether a message in this state can be found unusable: none of its RDMA Reads
// is queued or in progress. reading ends with its batch.
func (s requestState) refusable() bool {
	return s == received || s == assembling || s == readDeferred || s == reading
}

// Answer is a reply, or a refusal. Its memory belongs to the engine until Effects.Release.
type Answer struct {
	// Refuse, if its Code is not 0, sends RDMA_ERROR instead of a reply.
	Refuse header.Error
	// Drop sends nothing: for the peer the Call stays unanswered, and its credit in use.
	Drop bool

	Payload [][]byte // inline reply, in pieces

	// Results is not nil if the reply has chunks. It may be left from an earlier reply, and is
	// empty then. WithResults makes it.
	*Results
}

// Results is the part of an Answer for a reply with chunks.
type Results struct {
	// Long is a reply in registered memory. The engine writes it to the reply chunk and ignores
	// Payload.
	Long verbs.SGE
	// Reads are read chunks of the reply (Config.Legacy), of memory that the peer may read until
	// Effects.Release. If one has position zero, the engine ignores Payload.
	Reads []header.ReadSegment
	// Data has an element for each of the Writes that the peer offers: the result to write there.
	// A zero length leaves the chunk unused.
	Data []verbs.SGE
}

// WithResults returns the part for a reply with chunks, to be filled in.
func (a *Answer) WithResults() *Results {
	if a.Results == nil {
		a.Results = new(Results)
	}
	return a.Results
}

// reads returns the number of segments in the read chunks of the reply.
func (a *Answer) reads() int {
	if a.Results == nil {
		return 0
	}
	return len(a.Reads)
}

// transfer is an RDMA Write to be posted.
type transfer struct {
	sge    verbs.SGE
	remote header.Segment
}

// newRequest returns an idle Request.
func newRequest() *Request { return &Request{source: source{recv: none}} }

// reset makes r idle. Its slices and parts keep their memory. It sets field by field, because a
// Request is large and most of it is empty. hdr is set for each message.
func (r *Request) reset() {
	r.ReturnLoan()
	r.hdr.Payload = nil
	if r.Chunks != nil {
		r.Chunks.reset()
	}
	r.Answer.reset()
	r.XID, r.Message, r.Padding = 0, nil, Padding{}
	r.Owner, r.Err, r.Refused = nil, nil, nil
	r.source.reset()
	r.state, r.ticket, r.key, r.reply, r.deadline = idle, 0, 0, nil, 0
}

// ForgetAnswer forgets the memory of the answer. The driver calls it for a Request in
// Effects.Release: the engine resets those in the next Step only, and that may be much later.
func (r *Request) ForgetAnswer() {
	if r.Chunks != nil {
		empty(&r.transfers)
	}
	empty(&r.Answer.Payload)
	if r.Answer.Results != nil {
		empty(&r.Answer.Data)
		r.Answer.Long = verbs.SGE{}
	}
}

// reset empties the answer. Its slices keep their memory.
func (a *Answer) reset() {
	empty(&a.Payload)
	a.Refuse, a.Drop = header.Error{}, false
	if a.Results != nil {
		empty(&a.Data)
		a.Reads, a.Long = a.Reads[:0], verbs.SGE{}
	}
}

// idleRequests are the Requests that wait for a further Call of the peer. All are reset.
type idleRequests []*Request

// take returns a Request for the next Call.
func (s *idleRequests) take() *Request {
	if k := len(*s); k > 0 {
		r := (*s)[k-1]
		*s = (*s)[:k-1]
		return r
	}
	return newRequest()
}

// recycle adds Requests that the Step before has released.
func (s *idleRequests) recycle(list []*Request, memory Memory) {
	for _, r := range list {
		if r.source.joined != nil {
			memory.Give(r.source.joined)
		}
		r.reset()
		*s = append(*s, r)
	}
}
