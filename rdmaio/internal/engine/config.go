package engine

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Role is this end's role in the forward direction, in which the end that dialed makes the Calls.
// Either end may also have the other role, in the reverse direction (RFC 8167 §2.3).
type Role uint8

// The roles.
const (
	Requester Role = iota // dialed: its Calls are the forward ones
	Responder             // accepted: its Calls, if it makes any, are the reverse ones
)

// Buffer is registered memory for an inline message, or for several that are sent.
type Buffer struct {
	MR     verbs.MemoryRegion
	Offset int // of the first byte in MR
	Bytes  []byte
	Owner  any // the driver's

	// Of a send buffer: see sendBuffers.
	borrowed bool
	messages int // in flight
	at       int // where the last one begins
	end      int // where another one may begin
}

// sge returns an element for the n bytes of the last message.
func (b *Buffer) sge(n int) verbs.SGE {
	return verbs.SGE{MR: b.MR, Offset: b.Offset + b.at, Length: n}
}

// last returns the last message, and the memory after it.
func (b *Buffer) last() []byte { return b.Bytes[b.at:] }

// Config holds the settings of an Engine; every field must be set.
type Config struct {
	Role Role

	// Versions are the versions of the protocol that this end has, in order of preference. They
	// belong to the Engine, except for the methods that may be called concurrently.
	Versions []protocol.Version

	// OfferTimeout is the time in which the peer must answer the version that this end offers. If
	// zero, there is no limit. OfferXID is the XID of the offer.
	OfferTimeout time.Duration
	OfferXID     uint32

	// Announce has properties to send with this end's first set, after the version's properties.
	Announce []header.Property

	// Guard returns whether Calls of the peer, and messages of extensions, may be served now. It is
	// called for each one, except after a host authentication message in the same Step. If one
	// comes too early, the connection is closed with ErrEarly (T107). If nil, they may always be
	// served.
	Guard func() bool

	// MaxContinued is the length in bytes of the longest continued message that is received, and
	// ContinueTimeout the time that it may take. If zero, there is no time limit. Reserve counts n
	// bytes of memory for it, and releases them if n is negative; it returns false if there is too
	// little. It must be set if a version continues messages.
	MaxContinued    int
	ContinueTimeout time.Duration
	Reserve         func(n int) bool

	// Memory provides the memory of continued messages, so that it can be used again. If nil, it
	// comes from the heap and is not used again.
	Memory Memory

	// Calls is the number of credits that this side requests for its own Calls. If zero, it must
	// not make Calls. Serves is the largest number of credits that it grants. If zero, it serves no
	// Calls. The two are separate (R266).
	Calls, Serves int

	// KeepCredit keeps the last credit for an urgent Call (Call.Urgent), if there are as many as
	// keepFrom.
	KeepCredit bool

	// ReverseChunks allows chunks in the reverse direction as in the forward one. Without it a
	// reverse Call with chunks is refused (RFC 8167 §5.3; R277).
	ReverseChunks bool

	// Legacy allows read chunks in forward Replies, which are followed by RDMA_DONE, and accepts
	// RDMA_MSGP, as draft-ietf-nfsv4-rpcrdma-08 defines and RFC 8166 does not.
	Legacy bool

	// DoneTimeout is the time that a peer may take to read such a Reply and send RDMA_DONE.
	DoneTimeout time.Duration

	// Recv has Calls + Serves elements (R270, R271), which any message may use, two more if a
	// version counts messages (R175), and another Serves at a Responder with Legacy, for RDMA_DONE
	// (R107). Its elements, and those in Send, have the largest size that the terms may reach. If
	// nil, the provider lends the memory (verbs.RecvWR.Lend): there are then Receives buffers of at
	// most ReceiveMost bytes.
	Recv                  []Buffer
	Receives, ReceiveMost int

	// ReceiveSize is the size in bytes with which Receives are posted first. If zero, it is the
	// size of their memory.
	ReceiveSize int

	// Send has the permanent send buffers, at least one. MaxBorrowed is the number of further ones
	// that the engine may borrow while messages wait for one (Effects.WantBuffers).
	Send        []Buffer
	MaxBorrowed int

	// SendWRs is the size of the send queue.
	SendWRs int

	// Limits are for Calls received.
	Limits chunk.Limits

	// MaxErrors is the number of Calls per second that may be answered by RDMA_ERROR. If zero,
	// there is no limit.
	MaxErrors int

	// ChainTimeout is the time that a chain of posted requests may take. After that the connection
	// is closed (T50, T128). If zero, there is no limit.
	ChainTimeout time.Duration
}

// Memory provides memory for messages. Reserve has counted it.
type Memory interface {
	// Take returns n bytes with any contents.
	Take(n int) []byte
	// Give takes memory back that is no longer used.
	Give(b []byte)
}

// heap is a Memory that allocates and does not use memory again.
type heap struct{}

func (heap) Take(n int) []byte { return make([]byte, n) }
func (heap) Give([]byte)       {}

// prepare sets Receives and ReceiveMost from Recv, if there are any.
func (cfg *Config) prepare() {
	if len(cfg.Recv) > 0 {
		cfg.Receives, cfg.ReceiveMost = len(cfg.Recv), len(cfg.Recv[0].Bytes)
	}
}

// sendSize returns the size of the send buffers.
func (cfg *Config) sendSize() int { return len(cfg.Send[0].Bytes) }

// Flow counts the RPCs of one direction. Calls and Replies only grow.
type Flow struct {
	Calls, Replies uint64 // Calls sent, or received where they are served; and their replies
	InFlight       int    // Calls sent and not answered, or received and not answered
	Granted        int    // credits for our Calls; where Calls are served, the last grant
}

// Stats counts messages, faults and bytes. The counts only grow; the fields after "State" can also
// fall.
type Stats struct {
	Flow         // the forward direction
	Reverse Flow // the reverse direction

	Sent, Received          uint64 // messages
	ErrorMessages           uint64 // RDMA_ERROR: sent about Calls, or received about our own
	DroppedMessages         uint64 // messages received and ignored
	CallsOverCredit         uint64 // of these, Calls beyond the grant
	FaultyMessages          uint64 // messages received that broke a rule
	BytesRead, BytesWritten uint64 // by RDMA Read (completed) and RDMA Write, for Calls received
	ZeroGrants              uint64 // grants of 0, taken as 1
	OverGrants              uint64 // grants over the requested number, reduced to it
	GrantMessages           uint64 // messages sent that only grant credits
	PartsSent               uint64 // messages sent that are parts of continued ones
	PartsReceived           uint64 // messages received that are parts of continued ones
	DoneMessages            uint64 // RDMA_DONE messages sent, or received where one was due
	DelayedCalls            uint64 // our Calls that waited: for credit, room or earlier Calls
	RemoteInvalidations     uint64 // keys invalidated by a Reply, at either end

	// State.
	Abandoned       int // our cancelled Calls in flight: each has a credit
	Waiting         int // Calls that wait for a credit, and answers for room in the send queue
	DoneMessagesDue int // Replies that the peer has not read yet
	PostedRecvs     int // Receives
	SendQueueFilled int // entries of the send queue in use, or not known to be free

	// Used is the time of the last message received, and of the last work posted.
	Used time.Duration
}
