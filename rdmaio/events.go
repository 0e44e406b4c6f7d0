package rdmaio

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Event is the argument of Config.Events: a pointer to one of the types below. Later versions may
// add types, so ignore those that you do not know. String is for logs; its text may change.
type Event interface {
	fmt.Stringer
	event()
}

// ConnUp is emitted when a connection is up, before its other events.
type ConnUp struct {
	Conn     *Conn
	Accepted bool  // the connection was accepted, not dialed
	Terms    Terms // the negotiated terms

	// Peer is the authenticated identity of the peer, or nil without host authentication
	// (Config.HostAuth).
	Peer *hostauth.Peer
}

// ConnDown is emitted when a connection that was up is closed.
type ConnDown struct {
	Conn   *Conn
	Reason error // as Conn.Err returns it
}

// ConnFailed is emitted when a connection could not be made, or its host authentication failed.
type ConnFailed struct {
	Addr     string // the address dialed, or the address of the peer
	Accepted bool   // the peer asked for the connection
	Version  int    // the version with which this side began, or 0 if Accepted
	Reason   error
}

// TermsSet is emitted when Conn.SetTerms has changed the terms of a connection, and when the first
// message of the client has shown its version to a server with version 2.
type TermsSet struct {
	Conn  *Conn
	Terms Terms // the new terms
}

// RPC identifies the RPC of an event.
type RPC struct {
	Conn *Conn
	XID  uint32

	// Program, Version and Procedure are the Call's (RFC 5531 §9). They are zero if the
	// message is too short for them.
	Program, Version, Procedure uint32
}

// CallStart is emitted when Conn.Call or Submit is called, by the program or by a Client or
// Backchannel, which may do so several times for one Call. One CallEnd follows.
type CallStart struct {
	RPC
	Message *Message
}

// CallEnd is emitted when Conn.Call is about to return, or before the done function of a Call that
// was submitted.
type CallEnd struct {
	RPC
	Took   time.Duration // since CallStart
	Waited time.Duration // the part of it before the Call was sent: for a credit or the send queue

	Sent, Received          int // bytes of the RPC messages, items included
	ReadChunks, WriteChunks int // chunks that the Call offered; the reply chunk is a write chunk

	Reply *Reply // nil if Err is not
	Err   error  // a *CallError, or nil
}

// ServeStart is emitted before a Handler gets a Request. One ServeEnd follows.
type ServeStart struct {
	RPC
	Request *Request // must not be answered
}

// ServeEnd is emitted when a Request was answered or dropped, or its reply was lost, and its memory
// is free again.
type ServeEnd struct {
	RPC
	Took           time.Duration // since ServeStart
	Received, Sent int           // bytes of the RPC messages, items included
	Placed         int           // items that came by chunk
	Dropped        bool          // Request.Drop was called
	Err            error         // why no reply was sent; for a *SizeError the peer got RDMA_ERROR

	// Denied and Status are the status of the reply (RFC 5531 §9). Status is zero, oncrpc.Success,
	// if Denied is true.
	Denied bool
	Status oncrpc.AcceptStat

	HandlerErr error // the error that the handler passed to Request.Report
}

// Refusal is emitted when a Call of the peer is answered by RDMA_ERROR before a Handler sees it.
type Refusal struct {
	Conn   *Conn
	XID    uint32
	Reason error // a *Fault, or the resource that this side lacked
}

// Resent is emitted when a Client or Backchannel has sent a Call again because its connection was
// lost.
type Resent struct {
	RPC          // on the new connection
	Reason error // the error of the Call on the connection before
}

// Limit is the name of a Config field that limits something.
type Limit string

// The limits of LimitHit.
const (
	LimitCredits        Limit = "Credits"        // a Call of this side waits for a credit
	LimitMaxConns       Limit = "MaxConns"       // a connection was rejected
	LimitMaxPerSource   Limit = "MaxPerSource"   // a connection was rejected
	LimitMaxConnMemory  Limit = "MaxConnMemory"  // a Call received waits for memory
	LimitMaxMemory      Limit = "MaxMemory"      // the same, or it was refused by ERR_CHUNK
	LimitMaxReplyMemory Limit = "MaxReplyMemory" // a Call of this side waits for memory
	LimitMaxHandlers    Limit = "MaxHandlers"    // a Call received waits for a handler to end
)

// LimitHit is emitted when something waits or is refused because of a limit in Config.
type LimitHit struct {
	// Conn is the connection. It is nil with LimitMaxConns and LimitMaxPerSource, and if a Call
	// waits for a credit of any of several connections (ClientConfig.Connections).
	Conn  *Conn
	Limit Limit
}

// PeerFaults is emitted when the peer did something that it should not. The numbers are the
// increases of the Stats fields with these names since the last such event.
type PeerFaults struct {
	Conn *Conn

	DroppedMessages, CallsOverCredit, FaultyMessages, ZeroGrants, OverGrants uint64
}

func (*ConnUp) event()     {}
func (*ConnDown) event()   {}
func (*ConnFailed) event() {}
func (*TermsSet) event()   {}
func (*CallStart) event()  {}
func (*CallEnd) event()    {}
func (*ServeStart) event() {}
func (*ServeEnd) event()   {}
func (*Refusal) event()    {}
func (*Resent) event()     {}
func (*LimitHit) event()   {}
func (*PeerFaults) event() {}
