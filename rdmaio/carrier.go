package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// The types of package oncrpc that all carriers of RPC messages share. Conn, Client and Backchannel
// are oncrpc.Carriers.
type (
	// Message is an RPC message, its items apart from the rest. The transport decides how each of
	// them travels.
	Message = oncrpc.Message
	// Call is an RPC to make.
	Call = oncrpc.Call
	// Reply is the answer to a Call.
	Reply = oncrpc.Reply
	// Padding describes the padding of a message that came as RDMA_MSGP (Config.Legacy).
	Padding = oncrpc.Padding
	// Request is a Call that the peer sent. Its Conn is a *Conn.
	Request = oncrpc.Request
	// Handler serves the Calls of a server's connections. With Config.NonBlocking it must not block
	// and not end its goroutine.
	Handler = oncrpc.Handler
	// HandlerFunc adapts a function to a Handler.
	HandlerFunc = oncrpc.HandlerFunc
	// CallError is the error of Conn.Call, Client.Call and Backchannel.Call. It unwraps to the
	// reason: a *PeerError (in a *RefusedError for ERR_CHUNK), a *Fault, a *SizeError, the
	// context's error, an error of this package, or the error of package verbs with which the
	// connection was lost.
	CallError = oncrpc.CallError
)

// checkPosition returns an error if item i of m has a position that a read chunk cannot have.
func checkPosition(m *Message, i int) error {
	if at := m.Items[i].Position; at > 1<<32-1 {
		return fmt.Errorf("%w: item %d has position %d, which does not fit 32 bits (RFC 8166 §3.4.5)", ErrMessage, i, at)
	}
	return nil
}

// none makes every item of a Message travel apart.
func none(int) bool { return false }
