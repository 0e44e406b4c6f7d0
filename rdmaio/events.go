package rdmaio

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Event is what Config.Events is told of: one of the pointers to the types below. More may come, so
// leave out what you do not know. String is for logs, and its text no interface.
type Event interface {
	fmt.Stringer
	event()
}

// ConnUp: a connection was made. Its other events follow.
type ConnUp struct {
	Conn     *Conn
	Accepted bool  // it was accepted, not dialed
	Terms    Terms // what was agreed on
}

// ConnDown: a connection that was up has ended.
type ConnDown struct {
	Conn   *Conn
	Reason error // as Conn.Err has it
}

// ConnFailed: a connection was not made.
type ConnFailed struct {
	Addr     string // dialed, or of the peer
	Accepted bool   // the peer asked for it
	Reason   error
}

// TermsSet: Conn.SetTerms was called, so the two sides agreed on other terms.
type TermsSet struct {
	Conn  *Conn
	Terms Terms // which hold now
}

// RPC identifies the RPC of an event.
type RPC struct {
	Conn *Conn
	XID  uint32

	// Program, Version and Procedure are what the message has at their place (RFC 5531 §9); 0 where it is too short.
	Program, Version, Procedure uint32
}

// CallStart: Conn.Call was called, by the program or by a Client or Backchannel, which may do so several times for a Call. One CallEnd follows.
type CallStart struct {
	RPC
	Message *Message
}

// CallEnd: a Conn.Call is over.
type CallEnd struct {
	RPC
	Took   time.Duration // from CallStart
	Waited time.Duration // of that, until it was sent, or to the end: for a credit, or for room in the send queue

	Sent, Received          int // bytes of the RPC messages, items included
	ReadChunks, WriteChunks int // offered; the reply chunk is a write chunk

	Reply *Reply
	Err   error // a *CallError; nil: there is a Reply
}

// ServeStart: a Handler gets a Request. One ServeEnd follows.
type ServeStart struct {
	RPC
	Request *Request // to be looked at only
}

// ServeEnd: a Request was answered, or will not be, and what it had was given back.
type ServeEnd struct {
	RPC
	Took           time.Duration // from ServeStart
	Received, Sent int           // bytes of the RPC messages, items included
	Placed         int           // items that came by chunk
	Dropped        bool          // by Request.Drop
	Err            error         // why no reply went out; with a *SizeError the peer was told by RDMA_ERROR

	// Denied and Status are what the reply says (RFC 5531 §9): with Denied there is no Status; oncrpc.Success is 0.
	Denied bool
	Status oncrpc.AcceptStat

	HandlerErr error // what the handler said by Request.Report
}

// Refusal: a Call of the peer was answered by RDMA_ERROR, before a Handler saw it.
type Refusal struct {
	Conn   *Conn
	XID    uint32
	Reason error // a *Fault: the rule that was broken; else what this side lacked
}

// Resent: a Client or Backchannel has sent a Call another time, since the connection before was lost.
type Resent struct {
	RPC          // on Conn this time
	Reason error // what became of it the time before
}

// Limit is a field of Config that limits something.
type Limit string

// The limits.
const (
	LimitCredits       Limit = "Credits"       // a Call of ours waits: as many are in progress
	LimitMaxConns      Limit = "MaxConns"      // a connection was rejected
	LimitMaxConnMemory Limit = "MaxConnMemory" // a Call received waits for others, or for a fair part of MaxMemory
	LimitMaxMemory     Limit = "MaxMemory"     // a Call received was refused
	LimitMaxHandlers   Limit = "MaxHandlers"   // a Call received waits for others
)

// LimitHit: there is as much of something as the Config allows, so that something else waits or was refused.
type LimitHit struct {
	Conn  *Conn // nil with LimitMaxConns
	Limit Limit
}

// PeerFaults: the peer did what it should not. The numbers are how much the fields of Stats with these names
// have grown since the last such event.
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

// side names what a peer's address is.
func side(accepted bool) string {
	if accepted {
		return "from"
	}
	return "to"
}

// String implements fmt.Stringer.
func (e *ConnUp) String() string {
	return fmt.Sprintf("connection %s %s is up: %+v", side(e.Accepted), e.Conn.RemoteAddr(), e.Terms)
}

// String implements fmt.Stringer.
func (e *ConnDown) String() string {
	return fmt.Sprintf("connection with %s is down: %v", e.Conn.RemoteAddr(), e.Reason)
}

// String implements fmt.Stringer.
func (e *ConnFailed) String() string {
	return fmt.Sprintf("no connection %s %s: %v", side(e.Accepted), e.Addr, e.Reason)
}

// String implements fmt.Stringer.
func (e *TermsSet) String() string {
	return fmt.Sprintf("connection with %s has other terms: %+v", e.Conn.RemoteAddr(), e.Terms)
}

// String returns the XID, the procedure, and the peer's address. The procedure is in words where Config.Programs has its
// names: "NFS3 GETATTR (100003 v3 proc 1)".
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
	return fmt.Sprintf("call %v: %d bytes", &e.RPC, e.Message.bytes())
}

// String implements fmt.Stringer.
func (e *CallEnd) String() string {
	if e.Err != nil {
		return fmt.Sprintf("call %v: failed after %v: %v", &e.RPC, e.Took, e.Err)
	}
	return fmt.Sprintf("call %v: %d bytes back after %v, of which it waited %v", &e.RPC, e.Received, e.Took, e.Waited)
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
	text := fmt.Sprintf("serve %v: %d bytes sent after %v", &e.RPC, e.Sent, e.Took)
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
	return fmt.Sprintf("refused call %#08x of %s: %v", e.XID, e.Conn.RemoteAddr(), e.Reason)
}

// String implements fmt.Stringer.
func (e *Resent) String() string {
	return fmt.Sprintf("sent again call %v: %v", &e.RPC, e.Reason)
}

// String implements fmt.Stringer.
func (e *LimitHit) String() string { return fmt.Sprintf("Config.%s is reached", e.Limit) }

// String implements fmt.Stringer.
func (e *PeerFaults) String() string {
	return fmt.Sprintf("faults of %s: %d messages dropped (%d beyond its credits), %d broke a rule, %d grants of none, %d of too much",
		e.Conn.RemoteAddr(), e.DroppedMessages, e.CallsOverCredit, e.FaultyMessages, e.ZeroGrants, e.OverGrants)
}
