package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// quoted is the largest number of a peer's first bytes that an error quotes.
const quoted = 16

// protocols has the protocols that a peer may speak by mistake, with the first bytes that begin
// each. A server of one of them closes the connection of a client that speaks another.
var protocols = []struct {
	name, rule string
	provider   bool // name is a provider of this module
	begins     func(first []byte) bool
	remedy     string
}{
	{
		"rdmatcp", "docs/rdmatcp.md", true,
		// The hello: version 1; an RDMA_Write with B and E.
		func(first []byte) bool { return bytes.HasPrefix(first, []byte{1, 0x0d}) },
		"use the same provider at both ends",
	},
	{
		"iwarp", "RFC 5044 §7.1", true,
		func(first []byte) bool { return bytes.HasPrefix(first, []byte("MPA ")) },
		"use the same provider at both ends",
	},
	{
		"ONC RPC over TCP", "RFC 5531 §11", false, beginsRPC,
		"use RDMA at that end, or TCP and its port at both ends",
	},
}

// beginsRPC reports whether a stream begins with the mark of a record that has one fragment, and a
// call of RPC version 2 or a reply (RFC 5531 §9).
func beginsRPC(first []byte) bool {
	if len(first) < 12 || first[0]&0x80 == 0 {
		return false
	}
	switch binary.BigEndian.Uint32(first[8:]) {
	case 0:
		return len(first) >= 16 && binary.BigEndian.Uint32(first[12:]) == 2
	case 1:
		return true
	}
	return false
}

// OtherProtocol returns the error of a set-up with a peer whose first bytes begin no message of the
// framing, because of a rule. It names the peer's protocol, if that is a known one.
func (c *Conn) OtherProtocol(rule error) error {
	first := c.input.buf[:c.input.w]
	is := fmt.Sprintf("its first bytes are %q", first[:min(len(first), quoted)])
	for _, p := range protocols {
		if p.name != c.dev.cfg.Provider && p.begins(first) {
			return fmt.Errorf("%w: %s, as of %s (%s), and this side speaks %s: %s", verbs.ErrOtherProtocol, is, p.name, p.rule, c.dev.cfg.Provider, p.remedy)
		}
	}
	return fmt.Errorf("%w: %s, and this side speaks %s: check the port: %w", verbs.ErrOtherProtocol, is, c.dev.cfg.Provider, rule)
}

// closedAtOnce explains to a client why a server may have closed the connection without a byte, for
// a device of a provider.
func closedAtOnce(provider string) string {
	var others []string
	for _, p := range protocols {
		if p.provider && p.name != provider {
			others = append(others, p.name)
		}
	}
	return fmt.Sprintf("this side speaks %s: a server of %s, or of ONC RPC over TCP, closes its connections without an answer: use the server's provider, or check the port. "+
		"A server of %[1]s does so if it has as many connections as its Config.MaxPerSource or MaxConnections allows: raise them there", provider, strings.Join(others, " or "))
}

// setUpFailed returns the error of a set-up over c that has failed with err. It recognizes a peer
// whose TLS differs.
func (c *Conn) setUpFailed(err error) error {
	if s, ok := c.conn.(*tlsConn); ok {
		// A server's verdict on the client's certificate comes after the client's handshake.
		if tlsstream.IsAlert(err) {
			return s.Explain(err)
		}
		return peerClosed(err)
	}
	// The set-up does not move what it has read, so that the first bytes are where they were.
	if first := c.input.buf[:c.input.w]; len(first) > 1 && tlsstream.IsRecord(first) {
		return fmt.Errorf("%w: the peer speaks TLS, and this side does not: its first bytes are %q, a TLS record (RFC 8446 §5.1): set Config.TLS here, or unset it there",
			verbs.ErrTLS, first[:min(len(first), quoted)])
	}
	return peerClosed(err)
}
