package rdmaio

import (
	"log/slog"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Config configures Dial and Listen. A nil Config is valid and has the default of every field.
type Config struct {
	// Credits is the largest number of Calls that may be outstanding on a connection. The side that
	// dials requests this many, and the side that listens grants at most this many. If zero, the
	// default is 32. Of eight or more, one is kept for the message that cancels Calls, unless
	// NoCancel is set.
	//
	// Each credit costs a Receive of InlineRecv bytes and, until the Send of its message completes,
	// a send buffer of InlineSend bytes, which small messages share. With a device that lends the
	// memory of Receives (verbs.DeviceAttributes), as rdmatcp and iwarp do, the Receive takes
	// memory from the arrival of a message until its Call is answered.
	Credits int

	// InlineSend and InlineRecv are the largest messages, header included, that this side sends and
	// receives without chunks, in bytes. If zero, the default is the InlineSize of the device
	// (verbs.DeviceAttributes), or 4096 if that is zero. rdmatcp, iwarp and mem have 5120, for 4
	// KiB of data and their headers. They must be within 1024 and 256 KiB and are rounded down to a
	// multiple of 1024.
	//
	// In each direction the smaller of the sender's InlineSend and the receiver's InlineRecv is
	// used. The two sides advertise them when the connection is made (RFC 8797 §4.2). It is 1024
	// with a peer that advertises nothing.
	InlineSend, InlineRecv int

	// Versions are the versions of RPC-over-RDMA that this side speaks, in order of preference. If
	// nil, it is version 1 alone (RFC 8166). Version 2 is
	// draft-ietf-nfsv4-rpcrdma-version-two-00.
	//
	// The side that dials begins with the first one. If that is 2 and the peer has only 1, it
	// continues with version 1 on the same connection. If it is 1, a peer that has only 2 refuses
	// each Call (PeerErrVers); a Client then connects again with version 2. The side that listens
	// takes the version of the client's first message in a version that it has; the order does not
	// matter there.
	//
	// With version 2, InlineSend and InlineRecv are at least 4096, and version 2 negotiates them
	// itself: RFC 8797 is for version 1.
	Versions []int

	// OfferTimeout is the time in which a server must answer the first message of version 2. If
	// zero, the default is 5 s. If negative, only the context limits it. Dial fails with
	// ErrNoAnswer if there is no answer.
	OfferTimeout time.Duration

	// MaxContinued is the length in bytes of the longest RPC message that this side takes in
	// several Sends (version 2). If zero, the default is 1 MiB. If negative, there is no limit. A
	// longer one is discarded, and a Call is then refused by SYSTEM.
	//
	// The memory of such messages counts for MaxMemory, and follows the bytes received. So does
	// the memory of properties in several Sends.
	MaxContinued int

	// Continue is the length in bytes of the longest RPC message that this side sends, or expects
	// as a reply, in several Sends where there is a choice (version 2). Longer ones use chunks. If
	// zero, the default is 12 KiB. If negative, chunks are always preferred.
	//
	// Continuing saves registrations and, for a Call, the round trip of an RDMA Read; it costs a
	// copy at each end, and a credit for each Send.
	Continue int

	// HostAuth configures host authentication (version 2). If zero, it is off.
	HostAuth HostAuth

	// RemoteInvalidate is positive if the server may invalidate one key of each Call together with
	// its reply, which saves the client the work (RFC 8797 §4.1). If zero or negative, it may not.
	//
	// It is used if both sides want it and their devices can do it. In version 2 each Call names
	// the key, and the server decides. With it, the reply to a cancelled Call that had chunks
	// breaks the connection on devices that cannot redirect keys (see Conn.Call).
	RemoteInvalidate int

	// MaxReadBytes is the largest number of bytes that one Call may make the server fetch by RDMA
	// Read. If zero, the default is 16 MiB. If negative, there is no limit for one Call; MaxMemory
	// then bounds what a peer can make the server allocate. A Call with more is refused by
	// ERR_CHUNK; Logger and Events get the limit.
	MaxReadBytes int

	// MaxConnMemory is the largest amount of memory that all Calls with chunks of a connection may
	// take at a time, in bytes. If zero, the default is 16 MiB. If negative, there is no limit.
	//
	// A Call counts with its whole length, chunks in place, until it is answered. Further Calls
	// wait until enough is free. A Call that needs more than the limit is served when it is alone.
	MaxConnMemory int

	// MaxReplyMemory is the largest amount of memory in bytes that a connection offers at a time
	// for replies by Call.MaxReply. It applies to devices without verbs.OnDemand, for example
	// hardware, because their memory must be in place, and is pinned, before the server writes
	// there. If zero, the default is 16 MiB and 64 KiB. If negative, there is no limit.
	//
	// Further Calls wait, in their order, and keep their credit. A Call that needs more than the
	// limit is made when no other has such memory. On those devices a Call offers only as much as
	// the largest reply of its procedure had on the connection, and is sent again with MaxReply if
	// that was too little: in version 2, or if Call.Idempotent is set.
	MaxReplyMemory int

	// MaxMemory is the memory, in bytes, for the Requests on all of a server's connections, and for
	// their replies until they are sent. If zero, the default is a quarter of the memory that the
	// process may have, but at most 1 GiB. If negative, there is no limit. The resident memory of a
	// process with one server, whose handlers keep nothing, is meant to stay below 1.5 times
	// MaxMemory and 32 MiB, with the garbage collector's default (GOGC). Not counted are memory
	// that handlers take for themselves, and the messages that Credits and InlineRecv allow for
	// each connection. Replies should not be longer than an eighth of MaxMemory, because a reply
	// takes several times its size while it is encoded.
	//
	// So only two thirds of MaxMemory are given out: the rest is garbage. Half of these two thirds
	// is a reserve for replies without a bound (oncrpc.Bounder): only so many of their handlers run
	// at a time as could all reply 16 MiB and 64 KiB, by default 21. Further ones wait, at their
	// place of MaxHandlers, but for no longer than a second for a handler that does not reply. The
	// other half is for Calls with chunks, continued messages, and the bounds of replies.
	//
	// All connections from one source, as MaxPerSource counts them, have a share of that other half
	// together, and each connection from this machine its own: half while others have nothing,
	// otherwise at most 27 %, and less the more others have. n greedy sources leave at least the
	// part 2/(n+3). A Call that finds too little left waits until there is more, for WorkTimeout at
	// most. Then, or if it needs more than a sixth of MaxMemory, it is refused by ERR_CHUNK
	// (ErrMemory). So MaxMemory should be 12 times MaxReadBytes or more.
	//
	// Where others wait for memory, a connection that keeps 64 KiB or more is closed if its peer
	// reads less than 512 KiB/s of a reply, or serves RDMA Reads at less.
	//
	// The memory that the process may have is GOMEMLIMIT and, on Linux, also the machine's memory,
	// the limits of the control groups and RLIMIT_AS, whichever is least. If none of these is
	// known, the default is 1 GiB.
	//
	// Because a header of 100 bytes can name a MiB, memory follows the bytes that the peer
	// delivers: a connection may take 31 KiB, and then three bytes for each byte that arrived. The
	// first long Calls of a connection are therefore fetched in parts.
	MaxMemory int

	// IdleTimeout is the time after which a server closes a connection on which the client has no
	// Call in progress, unless Conn.AllowReverse was called for it. If zero, the default is 6 min,
	// longer than a Client's. If negative, there is no limit.
	IdleTimeout time.Duration

	// MaxConns is the largest number of connections that a server has. If zero, the default is
	// 10,000. If negative, there is no limit. For a further one, the server closes the connection
	// that has been idle for longest, as by IdleTimeout, and for 1 s at least. If all are in use,
	// it rejects the new one: Dial returns ErrServerFull.
	MaxConns int

	// MaxPerSource is the largest number of connections that a server has from one IPv4 address or
	// one IPv6 network of 64 bits. If zero, the default is 64. If negative, there is no limit.
	// Further connections are rejected: Dial returns ErrServerFull. Connections from this machine
	// are limited only if it is positive. Without IP addresses, as with provider mem, all
	// connections count as one source on this machine.
	MaxPerSource int

	// MaxErrors is the largest number of Calls in a second that this side answers by RDMA_ERROR on
	// a connection. If zero, the default is 64. If negative, there is no limit. With more, this
	// side closes the connection (ErrTooManyErrors).
	MaxErrors int

	// MaxSegments is the largest number of segments in a chunk. If zero, the default is 256. If
	// negative, there is no limit. A Call of the peer with more is refused by ERR_CHUNK.
	MaxSegments int

	// MaxChunks is the largest number of read chunks, and of write chunks, in a header. If zero,
	// the default is 16. If negative, there is no limit. A Call of the peer with more is refused by
	// ERR_CHUNK, and a Call of this side with more fails with a *SizeError before it is sent.
	MaxChunks int

	// SegmentSize is the largest size of a segment in the chunks that this side offers, in bytes.
	// If zero, the default is 1 GiB. It must be positive.
	SegmentSize int

	// SendQueue is the number of entries in the send queue. If zero, the default is 256, or the
	// device's maximum if that is less. RDMA Reads and Writes for a Call of the peer go in batches
	// if they do not fit.
	SendQueue int

	// WorkTimeout is the longest time that posted work may take, for example while the peer accepts
	// no message or serves no RDMA Read. If zero, the default is 30 s. If negative, there is no
	// limit. This side closes a connection on which work takes longer (ErrTimeout).
	//
	// In version 2 it also limits how long a reply, and the rest of a message that is being
	// continued, wait for a credit of the peer, and how long the peer may take to continue one.
	WorkTimeout time.Duration

	// NonBlocking states that handlers never block: not on a lock that is held for long, not on a
	// disk, not on a Call that they make. Each handler then runs on the goroutine that received its
	// Call, which saves the switch to another one. The handler may answer later from any goroutine.
	// A handler that blocks stops its connection, and permanently if it waits for a Call on that
	// connection. One that panics or exits its goroutine closes the connection; with package mem
	// that may be the caller's goroutine. If false, each handler has a goroutine and may block.
	NonBlocking bool

	// MaxHandlers is the largest number of handlers that a server runs at a time, in addition to
	// one for each connection. If zero, the default is 256 for each processor (GOMAXPROCS). If
	// negative, there is no limit but the Credits of each connection. Further Calls wait in a
	// queue. It has no effect with NonBlocking.
	MaxHandlers int

	// NoCancel turns package cancel off. Without it, a Call whose context is done after it was sent
	// is followed by a Call of program 0x2000ca11 that says so. There is at most one at a time.
	// After one without a successful answer, there are no others on the connection. Calls of this
	// program are not passed to the handler; they cancel Request.Context.
	NoCancel bool

	// ReverseHandler serves the reverse Calls that the server makes on a connection of Dial (RFC
	// 8167). If nil, they are dropped, and their caller waits until its context is done: this side
	// has granted no credit for them and has no Receive to spare (RFC 8167 §4.3.1, §6). A peer of
	// version 2 knows that there is no handler and gets ErrReverse at once. Package tcp answers
	// PROG_UNAVAIL. Listen does not use it.
	ReverseHandler Handler

	// ReverseCredits is the largest number of reverse Calls that may be outstanding on a
	// connection. If zero, the default is 8 for a side that dials with a ReverseHandler, and
	// otherwise none. If negative, reverse Calls get no credits.
	//
	// The side that dials grants at most this many. The side that listens requests this many, and
	// can make reverse Calls only if it is positive (see Conn.AllowReverse). Each credit costs as
	// much as one of Credits.
	ReverseCredits int

	// ReverseChunks lets reverse Calls and their replies have chunks. Both ends must set it. If
	// false, they go inline or fail, and the peer gets no access to memory for them (RFC 8167
	// §5.3). A side that dials with a ReverseHandler cannot set both ReverseChunks and Legacy.
	ReverseChunks bool

	// Legacy accepts and uses features of draft-ietf-nfsv4-rpcrdma-08 that RFC 8166 withdrew, in
	// the forward direction: a server puts results that fit nowhere else in memory that the client
	// reads and acknowledges by RDMA_DONE, and both sides accept RDMA_MSGP (see Padding). Set it
	// only for peers that follow the draft: a peer that follows RFC 8166 refuses all of this.
	//
	// It has no effect on connections of version 2.
	//
	// A server with Legacy posts two Receives for each of its Credits. It closes a connection on
	// which RDMA_DONE does not come within WorkTimeout, or within 30 s if that is negative.
	Legacy bool

	// Extensions are the extensions of version 2 that this side takes part in. Nil means no
	// extension. Two that use the same number, or a number of version 2, are refused by Dial and
	// Listen. Versions must have 2.
	Extensions []Extension

	// Events is called when something happens on a connection, for metrics, traces or a capture of
	// RPC messages. If nil, there are no events, and they cost nothing.
	//
	// Events is called on the goroutine that caused the event, and on several at a time. For a
	// connection, ConnUp comes first, and ConnDown last except for Calls and Requests that fail
	// with the connection. For an RPC, the start comes before the end. Events must return soon and
	// must not panic: Calls wait for it. It must not keep the messages that an Event points to. Of
	// a Conn it may use Stats, Terms, RemoteAddr, Done and Err.
	Events func(Event)

	// Programs are the programs whose names the texts of events use. If nil, the texts have
	// numbers.
	Programs []oncrpc.Program

	// Logger receives records for people: messages that were refused, why this side closed a
	// connection, and handlers that failed. If nil, only faults of this program are logged, to
	// slog.Default: errors and panics of handlers. A logger over slog.DiscardHandler silences
	// those, too.
	//
	// Peers can cause ten records per second at most. The provider logs its own findings elsewhere.
	Logger *slog.Logger
}
