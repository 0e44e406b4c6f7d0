package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Errors caused by a connection's first record, for errors.Is. A Call that fails with one of them
// has not been executed.
var (
	// ErrNotRPC reports that the peer does not speak RPC over TCP: its first bytes, which the error
	// quotes, cannot begin an RPC message. The connection is lost.
	ErrNotRPC = errors.New("tcp: the peer speaks something else")
	// ErrFull reports that the server rejected the connection because of its limits: the text names
	// Config.MaxConns or MaxPerSource. Only servers of this package say so; others close the
	// connection.
	ErrFull = errors.New("tcp: the server is full")
)

// ErrIdle reports that the server closed a connection that was idle, because of Config.IdleTimeout
// or to make room for another one. At the client, a Call that fails with it has not been executed.
var ErrIdle = errors.New("tcp: the server closed the idle connection")

// rejection returns an empty record, which a server sends before it closes a connection that it
// does not serve. No RPC message is empty, so a client of this package recognizes it. Another
// client waits for the next record, and finds that the connection is closed (ADR 0095). The record
// has one fragment for Config.MaxConns, and two for MaxPerSource.
func rejection(why admission.Verdict) []byte {
	var fragments []byte
	if why == admission.SourceFull {
		fragments = make([]byte, markSize) // one of no bytes, and not the last
	}
	return appendMark(fragments, 0)
}

// farewell returns the error of a client that has got an empty record: as the first message, began
// is false, it is a rejection, and later the end of an idle connection.
func farewell(began bool, fragments int) error {
	switch {
	case began:
		return ErrIdle
	case fragments == 1:
		return fmt.Errorf("%w: it has as many connections as its Config.MaxConns allows: close some, or raise the limit there", ErrFull)
	}
	return fmt.Errorf("%w: it has as many connections from this address as its Config.MaxPerSource allows: close some, or raise the limit there", ErrFull)
}

// speaksRPC returns an error if a peer's first bytes cannot begin an RPC message. It is called when
// the first record mark exceeds Config.MaxRecord. The mark alone proves nothing, because a peer
// with a larger limit may send such a record, in several fragments too. So the message type
// decides, or the fact that the bytes are text or TLS.
func speaksRPC(first []byte) error {
	const header = markSize + 8 // up to the type of the message
	if len(first) >= header && binary.BigEndian.Uint32(first[header-4:]) <= uint32(oncrpc.MsgReply) {
		return nil
	}
	tls := tlsstream.IsRecord(first)
	if len(first) < header && !tls && !isText(first) {
		return nil // too few bytes to know
	}
	if tls {
		return fmt.Errorf("%w: TLS from the first byte on, where RPC-with-TLS begins with a Call in plaintext (RFC 9289 §4.1), beginning with %q", ErrNotRPC, first)
	}
	return fmt.Errorf("%w, beginning with %q, where a record mark and an RPC message were expected (RFC 5531 §9, §11): check the port", ErrNotRPC, first)
}

// isText reports whether b is printable ASCII with tabs and ends of lines.
func isText(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// hasNotRun reports whether the reason why a connection is down means that the peer has not
// executed any Call on it.
func hasNotRun(why error) bool {
	return neverServed(why) || errors.Is(why, ErrIdle)
}

// neverServed reports whether the peer never served the connection.
func neverServed(why error) bool {
	return errors.Is(why, ErrNotRPC) || errors.Is(why, ErrFull) || errors.Is(why, errUnwelcome)
}

// errUnwelcome marks the refusal of a TLS client that had already sent Calls: in TLS 1.3 the server
// looks at the client's certificate after the client's last message of the handshake.
var errUnwelcome = errors.New("the server has ended the TLS handshake")
