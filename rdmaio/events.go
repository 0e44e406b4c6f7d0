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

// CallStart is emitted when Conn.Call is called, by the program or by a Client or Backchannel,
// which may do so several times for one Call. One CallEnd follows.
type CallStart struct {
	RPC
	Message *Message
}

// CallEnd is emitted when Conn.Call is about to return.
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
	LimitMaxConnMemory  Limit = "MaxConnMemory"  // a Call received waits for memory (MaxMemory too)
	LimitMaxMemory      Limit = "MaxMemory"      // a Call received was refused by ERR_CHUNK
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

// preposition returns the word before a peer's address.
func preposition(accepted bool) string {
	if accepted {
		return "from"
	}
	return "to"
}

// String implements fmt.Stringer.
func (e *ConnUp) String() string {
	who := ""
	if e.Peer != nil {
		who = fmt.Sprintf(", authenticated as %+q by %s", e.Peer.Name, e.Peer.Method)
	}
	return fmt.Sprintf("connection %s %s%s is up: %+v", preposition(e.Accepted), e.Conn.RemoteAddr(), who, e.Terms)
}

// String implements fmt.Stringer.
func (e *ConnDown) String() string {
	return fmt.Sprintf("connection with %s is down: %v", e.Conn.RemoteAddr(), e.Reason)
}

// String implements fmt.Stringer.
func (e *ConnFailed) String() string {
	with := ""
	if e.Version > 1 {
		with = fmt.Sprintf(" with version %d", e.Version)
	}
	return fmt.Sprintf("no connection %s %s%s: %v", preposition(e.Accepted), e.Addr, with, e.Reason)
}

// String implements fmt.Stringer.
func (e *TermsSet) String() string {
	return fmt.Sprintf("connection with %s has new terms: %+v", e.Conn.RemoteAddr(), e.Terms)
}

// String returns the XID, the procedure and the peer's address. The procedure has names if
// Config.Programs has them: "NFS3 GETATTR (100003 v3 proc 1)".
func (r *RPC) String() string {
	return fmt.Sprintf("%#08x, %s, %s", r.XID, r.procedure(), r.Conn.RemoteAddr())
}

func (r *RPC) procedure() string {
	programs := r.Conn.set.Programs
	for i := range programs {
		if p := &programs[i]; p.Number == r.Program && p.Version == r.Version {
			return p.Describe(r.Procedure)
		}
	}
	return (&oncrpc.Program{Number: r.Program, Version: r.Version}).Describe(r.Procedure)
}

// String implements fmt.Stringer.
func (e *CallStart) String() string {
	return fmt.Sprintf("call %v: %d bytes", &e.RPC, e.Message.Size(nil))
}

// String implements fmt.Stringer.
func (e *CallEnd) String() string {
	if e.Err != nil {
		return fmt.Sprintf("call %v: failed after %v: %v", &e.RPC, e.Took, e.Err)
	}
	return fmt.Sprintf("call %v: reply of %d bytes after %v, sent after %v", &e.RPC, e.Received, e.Took, e.Waited)
}

// String implements fmt.Stringer.
func (e *ServeStart) String() string {
	return fmt.Sprintf("serve %v: %d bytes", &e.RPC, len(e.Request.Message))
}

// String implements fmt.Stringer.
func (e *ServeEnd) String() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("serve %v: no reply after %v: %v", &e.RPC, e.Took, e.Err)
	case e.Dropped:
		return fmt.Sprintf("serve %v: dropped after %v", &e.RPC, e.Took)
	}
	text := fmt.Sprintf("serve %v: reply of %d bytes after %v", &e.RPC, e.Sent, e.Took)
	switch {
	case e.Denied:
		text += ", denied"
	case e.Status != oncrpc.Success:
		text += fmt.Sprintf(", %v", e.Status)
	}
	if e.HandlerErr != nil {
		text += fmt.Sprintf(": %v", e.HandlerErr)
	}
	return text
}

// String implements fmt.Stringer.
func (e *Refusal) String() string {
	return fmt.Sprintf("call %#08x of %s refused: %v", e.XID, e.Conn.RemoteAddr(), e.Reason)
}

// String implements fmt.Stringer.
func (e *Resent) String() string {
	return fmt.Sprintf("call %v: sent again after: %v", &e.RPC, e.Reason)
}

// String implements fmt.Stringer.
func (e *LimitHit) String() string { return fmt.Sprintf("limit reached: Config.%s", e.Limit) }

// String implements fmt.Stringer.
func (e *PeerFaults) String() string {
	return fmt.Sprintf("faults of %s: %d messages dropped (%d Calls over credit), %d that broke a rule, %d grants of zero, %d of too much",
		e.Conn.RemoteAddr(), e.DroppedMessages, e.CallsOverCredit, e.FaultyMessages, e.ZeroGrants, e.OverGrants)
}
