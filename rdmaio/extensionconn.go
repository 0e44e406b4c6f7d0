package rdmaio

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ExtensionConn is a connection as one extension sees it. All methods are safe for concurrent use.
// None blocks, except that Do waits for methods of handlers.
type ExtensionConn struct {
	conn *Conn
	of   *extension
}

// Conn returns the connection.
func (x *ExtensionConn) Conn() *Conn { return x.conn }

// Accepted reports whether this side accepted the connection. Otherwise it dialed.
func (x *ExtensionConn) Accepted() bool { return x.conn.role == engine.Responder }

// XID returns a transaction ID for a message that begins an exchange. It differs from the XIDs of
// all other messages and Calls of this side, because an ERROR of the peer names its message only by
// XID.
func (x *ExtensionConn) XID() uint32 { return x.conn.caller.xids.Next() }

// Do calls f while no method of this connection's handlers runs. Code that does not run in such a
// method uses it to share state with the handler. The rules of ExtensionHandler apply to f.
func (x *ExtensionConn) Do(f func()) {
	x.conn.extensions.mu.Lock()
	defer x.conn.extensions.mu.Unlock()
	f()
}

// Send sends a message. Messages of extensions are sent in the order in which Send was called,
// before Calls and replies that are not being sent yet. Send copies m, and does not wait until the
// message is sent.
//
// The error wraps verbs.ErrInvalidValue if the header type, the flags or the type of the body are
// not in the descriptor. It is a *SizeError if the message does not fit Terms.InlineSend,
// wraps ErrUnsent if the peer does not take messages as fast as this side sends them, and is
// Conn.Err if the connection is down.
func (x *ExtensionConn) Send(m *ExtensionMessage) error {
	c := x.conn.set.extensions.find(xdr.HeaderTypes, m.Type)
	if c.of != x.of {
		return fmt.Errorf("rdmaio: extension %q: header type %d is not in its descriptor: %w", x.of.Name, m.Type, verbs.ErrInvalidValue)
	}
	if extra := m.Flags &^ c.Flags; extra != 0 || m.Flags&baseFlags != 0 {
		return fmt.Errorf("rdmaio: extension %q: flags %#x of %s, must be among %#x of its descriptor (Response sets RPCRDMA2_F_RESPONSE): %w",
			x.of.Name, m.Flags, c.Name, c.Flags&^baseFlags, verbs.ErrInvalidValue)
	}
	b, err := c.encode(m.Body)
	if err != nil {
		return fmt.Errorf("rdmaio: extension %q: %s: %w", x.of.Name, c.Name, err)
	}
	b = append(b, m.Payload...)
	if need, limit := v2.PrefixSize+len(b), x.conn.agreed.Load().Send; need > limit {
		return &SizeError{
			What: fmt.Sprintf("message %s of extension %q", c.Name, x.of.Name), Need: need, Limit: limit,
			Hint: "messages of extensions cannot be continued: send several",
		}
	}
	if err := x.conn.Err(); err != nil {
		return err
	}
	if !x.conn.extensions.begin(m, x.of) {
		return &unsentError{of: x.of, answer: m.Response}
	}
	x.queue(engine.EventOther, engine.Control{Other: engine.Other{XID: m.XID, Type: m.Type, Flags: m.Flags, Answer: m.Response, Payload: b}})
	return nil
}

// Refuse answers a message of the peer with an ERROR. The code is one of the base protocol that has
// no data (PeerErrChunk, which is BAD_XDR in version 2, PeerErrHeaderType, PeerErrFlag or
// PeerErrSystem), or one of the extension that has no data. An error with data is a separate
// message, for Send. The error wraps verbs.ErrInvalidValue for other codes, and for a message with
// Response, which is never answered. Refusals count for Config.MaxErrors.
func (x *ExtensionConn) Refuse(m *ExtensionMessage, code PeerErrorCode) error {
	if m.Response {
		return fmt.Errorf("rdmaio: extension %q: message %#08x is an answer, which must not be refused: %w", x.of.Name, m.XID, verbs.ErrInvalidValue)
	}
	switch c := x.conn.set.extensions.find(xdr.ErrorCodes, uint32(code)); {
	case code == PeerErrChunk, code == PeerErrHeaderType, code == PeerErrFlag, code == PeerErrSystem:
	case c.of != x.of:
		return fmt.Errorf("rdmaio: extension %q: error code %d is not in its descriptor: %w", x.of.Name, code, verbs.ErrInvalidValue)
	case c.New != nil:
		return fmt.Errorf("rdmaio: extension %q: error %s has data: send the header type that carries them: %w", x.of.Name, c.Name, verbs.ErrInvalidValue)
	}
	x.queue(engine.EventOther, engine.Control{Other: engine.Other{XID: m.XID, Err: header.Error{Code: header.ErrorCode(code)}}})
	return nil
}

// Fail closes the connection with err, for a fault after which it cannot be used. It does not free
// it: see Conn.Close.
func (x *ExtensionConn) Fail(err error) {
	if own := (*unsentError)(nil); !errors.As(err, &own) || own.of != x.of { // else it has the name
		err = fmt.Errorf("rdmaio: extension %q: %w", x.of.Name, err)
	}
	x.conn.driver.Queue(engine.Event{Kind: engine.EventClose, Err: err})
}

// unsentError is ErrUnsent of an extension.
type unsentError struct {
	of     *extension
	answer bool // the message answers one of the peer, which sends more than it takes answers for
}

func (e *unsentError) Error() string {
	return fmt.Sprintf("rdmaio: extension %q: too many of its messages wait for credits of the peer", e.of.Name)
}

func (e *unsentError) Unwrap() error { return ErrUnsent }

// SetReceiveSize sets the size in bytes of the Receives that are posted from now on. Those that are
// posted already cannot be changed: after a larger size, ReceiveResizer.ReceivesReplaced says when
// they are used up, which on an idle connection may be never. The extension must have made sure
// that the peer sends no message longer than a smaller size.
//
// The error wraps verbs.ErrInvalidValue if the size is not within 1024 and Config.InlineRecv, for
// which there is memory.
func (x *ExtensionConn) SetReceiveSize(size int) error {
	if most := x.conn.set.InlineRecv; size < header.LeastInline || size > most {
		return fmt.Errorf("rdmaio: extension %q: Receives of %d bytes, must be within %d and Config.InlineRecv, %d: %w",
			x.of.Name, size, header.LeastInline, most, verbs.ErrInvalidValue)
	}
	x.queue(engine.EventReceiveSize, engine.Control{Size: size})
	return nil
}

// ExtensionLimits replaces limits that the properties of the peer set. The zero value changes none.
// Only one extension of a connection should use it.
type ExtensionLimits struct {
	// InlineSend is the longest message that this side sends, in bytes. Config.InlineSend remains
	// its maximum, and sizes below 1024 count as 1024. If zero, the properties decide.
	InlineSend int

	// NoInvalidate stops a server from invalidating keys of the client.
	NoInvalidate bool

	// Reverse is the most support for reverse Calls that this side uses. What the properties allow
	// remains its maximum. If zero, they decide.
	Reverse ReverseSupport
}

// ReverseSupport is a level of support for reverse Calls (§5.2.5).
type ReverseSupport int

// The levels.
const (
	ReverseGeneral ReverseSupport = iota + 1 // as forward Calls
	ReverseInline                            // one Send for each Call and reply, without chunks
	ReverseNone                              // no reverse Calls
)

// SetLimits replaces limits for all messages that are not being sent yet. Calls and replies that
// are longer now are continued in several Sends. Messages of extensions that are longer now are not
// sent: ExtensionHandler.Error gets a *SizeError. A message that is passed to Send afterwards is
// sent when the limits hold.
func (x *ExtensionConn) SetLimits(l ExtensionLimits) {
	if l.InlineSend > 0 {
		l.InlineSend = max(l.InlineSend, header.LeastInline)
	}
	r := engine.Restrict{NoInvalidate: l.NoInvalidate}
	switch l.Reverse {
	case ReverseGeneral:
		r.Reverse = new(header.Reverse)
		*r.Reverse = header.ReverseGeneral
	case ReverseInline:
		r.Reverse = new(header.Reverse)
		*r.Reverse = header.ReverseInline
	case ReverseNone:
		r.Reverse = new(header.Reverse)
		*r.Reverse = header.ReverseNone
	}
	x.queue(engine.EventSendSize, engine.Control{Size: l.InlineSend})
	x.queue(engine.EventRestrict, engine.Control{Restrict: r})
}

// AdvertisedSend returns the longest message that this side may send by the properties of both
// sides, in bytes, whatever SetLimits says.
func (x *ExtensionConn) AdvertisedSend() int { return x.conn.agreed.Load().Advertised }

// Reverse returns the support for reverse Calls that this side advertises.
func (x *ExtensionConn) Reverse() ReverseSupport {
	return ReverseNone - ReverseSupport(x.conn.set.properties(x.conn.role).Reverse)
}

// queue brings an event to the engine. The caller may hold the lock of the handlers.
func (x *ExtensionConn) queue(kind engine.EventKind, c engine.Control) {
	x.conn.driver.Queue(engine.Event{Kind: kind, Control: &c})
}

// Extension returns the handler of an extension on this connection, by the name in its descriptor.
// It returns nil on a connection of version 1, before the version is agreed on, and if Config has
// no such extension. The connections that Dial returns and handlers get have agreed on a version.
func (c *Conn) Extension(name string) ExtensionHandler {
	all := c.extensions.attached.Load()
	if all == nil {
		return nil
	}
	for i, x := range c.set.extensions.list {
		if x.Name == name {
			return (*all)[i]
		}
	}
	return nil
}
