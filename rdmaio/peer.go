package rdmaio

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Peer describes the peer: its address, the TLS session that carries the connection, and its
// identity by host authentication. Peer.TLS is nil if there is no TLS, or if the provider cannot
// report it. Peer.Host is nil before host authentication has succeeded, if the connection does
// without (HostAuthOff, or HostAuthWanted with a peer that does not take part), and if the
// method does not authenticate a peer of this role.
func (c *Conn) Peer() oncrpc.Peer {
	return oncrpc.Peer{
		Addr: c.RemoteAddr(),
		TLS:  c.tlsState(),
		Host: (*oncrpc.HostIdentity)(c.auth.peer.Load()),
	}
}

// noTLS in Conn.tls means that the connection has no TLS.
var noTLS oncrpc.TLSState // never written

// tlsState returns the state of the TLS session, or nil. It asks the queue pair until it knows.
func (c *Conn) tlsState() *oncrpc.TLSState {
	state := c.tls.Load()
	if state == nil {
		of, err := verbs.TLSStateOf(c.qp)
		switch {
		case err == nil:
			known := oncrpc.TLSState(of)
			state = &known
		case errors.Is(err, verbs.ErrNotSupported):
			state = &noTLS
		default: // not connected yet
			return nil
		}
		c.tls.Store(state)
	}
	if state == &noTLS {
		return nil
	}
	return state
}
