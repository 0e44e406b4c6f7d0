package rdmaio

import "github.com/rpcrdma/rpcrdma/rdmaio/verbs"

// TLS returns the state of the TLS session that carries the connection, with the certificates of
// the peer. It returns false if there is no TLS, or the provider cannot report it.
//
// The state belongs to the host at the other end, and is the same for all Calls. The users in whose
// name the Calls are made are in the credentials of each Call, which TLS does not check.
func (c *Conn) TLS() (verbs.TLSState, bool) {
	state, err := verbs.TLSStateOf(c.qp)
	return state, err == nil
}
