package rdmaio

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"

// Flow counts the RPCs of one direction of a connection.
type Flow struct {
	// Calls is the number of Calls sent, or received on the side that serves them. Replies is the number of replies to
	// them. Both only grow.
	Calls, Replies uint64

	// InFlight is the number of Calls that were sent, or received, and have no reply now.
	InFlight int

	// Granted is the number of credits that this side has for its own Calls. On the side that serves the Calls it is
	// the last grant that this side sent.
	Granted int
}

// Stats is what a connection has counted until now. Except for those marked as state, the numbers only grow.
type Stats struct {
	Flow         // the forward direction: Calls of the side that dialed
	Reverse Flow // the reverse direction

	Sent, Received uint64 // messages
	ErrorMessages  uint64 // RDMA_ERROR messages: sent for Calls of the peer, or received for Calls of this side

	// DroppedMessages is the number of messages received and not acted on: Calls that Request.Drop ended, Calls beyond
	// what was granted, and messages that belong to no Call. CallsOverCredit is the number of these Calls beyond what
	// was granted.
	DroppedMessages, CallsOverCredit uint64

	FaultyMessages          uint64 // messages received that broke a rule (Fault)
	BytesRead, BytesWritten uint64 // bytes moved by RDMA Read and RDMA Write for Calls received
	ZeroGrants              uint64 // grants of zero credits received, taken as one
	OverGrants              uint64 // grants received of more credits than asked for, cut to that
	DoneMessages            uint64 // RDMA_DONE messages sent, or received for a reply that waited for one (Config.Legacy)
	DelayedCalls            uint64 // Calls of this side that waited before they were sent: for a credit, the send queue, or Calls before them
	RemoteInvalidations     uint64 // keys invalidated by replies: on the server those that it invalidated, on the client its own
	Registrations           uint64 // registrations of memory that callers and handlers passed in
	Staged                  uint64 // bytes copied because the device only takes memory of its own, a Call was cancelled, or a reply came by Call.MaxReply

	Abandoned       int    // state: Calls that were cancelled and have no reply yet; each keeps its credit
	Waiting         int    // state: Calls that wait for a credit, and answers that wait for the send queue
	DoneMessagesDue int    // state: replies for which RDMA_DONE is still to come (Config.Legacy)
	PostedRecvs     int    // state: Receives that are posted
	SendQueueFilled int    // state: entries of the send queue that are in use, or whose completion was not seen yet
	Regions         int    // state: memory regions that exist for Registrations
	Buffers         int    // state: buffers of the connection that exist, for messages and for the assembly of Calls
	BufferBytes     uint64 // state: the bytes of Buffers

	Terms // state: what the two sides agreed on
}

// Stats returns the counts. They include every event that was fully processed: the event that ended a Call may be counted
// a moment after Call returned.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	s := newStats(&c.stats)
	c.mu.Unlock()
	s.DelayedCalls += c.waits.Load()
	p := c.pool.Stats()
	s.Registrations, s.Staged, s.Regions, s.Buffers, s.BufferBytes = p.Registrations, p.Staged, p.Regions, p.Buffers, p.BufferBytes
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
		DoneMessages: e.DoneMessages, DelayedCalls: e.DelayedCalls, RemoteInvalidations: e.RemoteInvalidations,
		Abandoned: e.Abandoned, Waiting: e.Waiting, DoneMessagesDue: e.DoneMessagesDue,
		PostedRecvs: e.PostedRecvs, SendQueueFilled: e.SendQueueFilled,
	}
}
