package rdmaio

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"

// Flow counts the RPCs in one direction of a connection.
type Flow struct {
	// Calls is the number of Calls sent, or received on the side that serves them. Replies is the
	// number of replies to them. Both only grow.
	Calls, Replies uint64

	// InFlight is the number of Calls that were sent, or received, and have no reply now.
	InFlight int

	// Granted is the number of credits that this side has for its Calls. On the side that serves
	// the Calls it is the last grant that it sent.
	//
	// In version 2 credits are for messages of any kind. Granted is then the number of credits left
	// plus the number of Calls in flight, but no more than the Calls that the peer lets be in
	// flight. On the other side it is the number of credits that the peer was granted and has not
	// used.
	Granted int
}

// Stats holds the counts of a connection. Those above Abandoned only grow. Abandoned and those
// below it describe the present state.
type Stats struct {
	Flow         // the forward direction: Calls of the side that dialed
	Reverse Flow // the reverse direction

	// Sent and Received are the numbers of messages.
	Sent, Received uint64

	// ErrorMessages is the number of RDMA_ERROR messages: those sent for Calls of the peer, and
	// those received for Calls of this side.
	ErrorMessages uint64

	// DroppedMessages is the number of messages received and not acted on: Calls that Request.Drop
	// ended, Calls beyond the grant, and messages that belong to no Call. CallsOverCredit is the
	// number of the Calls beyond the grant among them.
	DroppedMessages, CallsOverCredit uint64

	// FaultyMessages is the number of messages received that broke a rule (Fault).
	FaultyMessages uint64

	// BytesRead and BytesWritten are the numbers of bytes that RDMA Read and RDMA Write moved for
	// Calls received.
	BytesRead, BytesWritten uint64

	// ZeroGrants counts the received grants of zero credits; each counts as one credit. OverGrants
	// counts the received grants of more credits than this side asked for; they are cut to that
	// number.
	ZeroGrants, OverGrants uint64

	// DoneMessages is the number of RDMA_DONE messages: those sent, and those received for a reply
	// that waited for one (Config.Legacy).
	DoneMessages uint64

	// GrantMessages is the number of messages sent that only grant credits. PartsSent and
	// PartsReceived are the numbers of messages that are parts of a continued one (version 2).
	GrantMessages, PartsSent, PartsReceived uint64

	// DelayedCalls is the number of this side's Calls that waited before they were sent: for a
	// credit, for entries of the send queue, or for Calls before them.
	DelayedCalls uint64

	// RemoteInvalidations is the number of keys that replies invalidated. A server counts those
	// that it invalidated, a client its own keys that the server invalidated.
	RemoteInvalidations uint64

	// Registrations counts the registrations of memory for Calls: what callers and handlers
	// passed in, and memory of the connection with a key for the peer. RemoteRegistrations is the
	// number of those among them with a key for the peer, and Revocations the number of such keys
	// that this side has invalidated. The peer, or the loss of the connection, invalidates the
	// others.
	Registrations, RemoteRegistrations, Revocations uint64

	// Staged is the number of bytes copied because the device only takes its own memory, because
	// a Call was cancelled, or because a reply came by Call.MaxReply.
	Staged uint64

	// CanceledRequests is the number of Requests whose caller said that it gave up (package
	// cancel).
	CanceledRequests uint64

	// Abandoned is the number of cancelled Calls that have no reply yet. Each keeps its credit.
	Abandoned int

	// Waiting is the number of Calls that wait for a credit, and of answers that wait for entries
	// of the send queue.
	Waiting int

	// WaitingRequests counts the peer's Calls that wait for a handler to end (Config.MaxHandlers),
	// or for memory for their replies.
	WaitingRequests int

	// DoneMessagesDue is the number of replies for which RDMA_DONE is still to come
	// (Config.Legacy).
	DoneMessagesDue int

	// PostedRecvs is the number of Receives that are posted.
	PostedRecvs int

	// SendQueueFilled is the number of entries in the send queue that are in use, or whose
	// completion this side has not seen yet.
	SendQueueFilled int

	// Regions is the number of memory regions that exist for Registrations.
	Regions int

	// Buffers is the number of buffers that the connection has, for messages and for the assembly
	// of Calls, and BufferBytes the number of bytes in them.
	Buffers     int
	BufferBytes uint64

	// PinnedBytes is the amount of registered memory in bytes: those in buffers, and those
	// that callers and handlers passed in. Devices with hardware pin them (RLIMIT_MEMLOCK).
	PinnedBytes uint64

	Terms // the terms of the two sides
}

// Stats returns the counts. They include every event that was fully processed: the event that
// completed a Call may be counted a moment after Call returned.
func (c *Conn) Stats() Stats {
	counts := c.driver.Stats()
	s := newStats(&counts)
	s.DelayedCalls += c.caller.waits.Load()
	s.CanceledRequests, s.WaitingRequests = c.answerer.running.got.Load(), c.answerer.requests.Len()
	p := c.pool.Stats()
	s.Registrations, s.RemoteRegistrations, s.Revocations, s.Staged = p.Registrations, p.Remote, p.Revocations, p.Staged
	s.Regions, s.Buffers, s.BufferBytes, s.PinnedBytes = p.Regions, p.Buffers, p.BufferBytes, p.Pinned
	s.Terms = c.Terms()
	return s
}

// newStats returns the counts that the engine has.
func newStats(e *engine.Stats) Stats {
	return Stats{
		Flow: Flow(e.Flow), Reverse: Flow(e.Reverse),
		Sent: e.Sent, Received: e.Received, ErrorMessages: e.ErrorMessages,
		DroppedMessages: e.DroppedMessages, CallsOverCredit: e.CallsOverCredit, FaultyMessages: e.FaultyMessages,
		BytesRead: e.BytesRead, BytesWritten: e.BytesWritten, ZeroGrants: e.ZeroGrants, OverGrants: e.OverGrants,
		GrantMessages: e.GrantMessages, PartsSent: e.PartsSent, PartsReceived: e.PartsReceived,
		DoneMessages: e.DoneMessages, DelayedCalls: e.DelayedCalls, RemoteInvalidations: e.RemoteInvalidations,
		Abandoned: e.Abandoned, Waiting: e.Waiting, DoneMessagesDue: e.DoneMessagesDue,
		PostedRecvs: e.PostedRecvs, SendQueueFilled: e.SendQueueFilled,
	}
}
