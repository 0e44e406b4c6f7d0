package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

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
