package rdmaio

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Extension is an extension of version 2 (draft-ietf-nfsv4-rpcrdma-version-two-00, appendix B):
// header types, flags, properties and error codes that the base protocol does not have, and what
// they do. Config.Extensions lists a side's extensions.
//
// The numbers and types come from the generated package of the extension's .x file and sidecar
// (docs/adding-an-extension.md), and the behaviour from a Go type next to it:
//
//	Dial, Listen        Descriptor        numbers of two owners are refused
//	each connection     Properties        sent with the first message of version 2
//	version 2 agreed    Attach            makes an ExtensionHandler for the connection
//
// On a connection of version 1 the extension is not attached: Conn.Extension returns nil.
//
// An Extension may be used for many connections at a time. Its methods may be called concurrently.
type Extension interface {
	// Descriptor returns the numbers of the extension and the types that they stand for. The
	// generated package has a function Extension that returns it.
	Descriptor() xdr.Extension

	// Properties returns the values of the extension's own properties for a new connection. It is
	// also called by Listen, which refuses values that cannot be sent. The set of properties must
	// fit 1024 bytes, because the peer may not have larger Receives (§4.3.3).
	Properties() []Property

	// Attach returns the handler of a connection. It is called when version 2 is agreed on, before
	// Dial returns and before the first Call is served. The rules of ExtensionHandler hold for it.
	Attach(c *ExtensionConn) ExtensionHandler
}

// ExtensionHandler is the behaviour of an extension on one connection.
//
// A connection calls the methods of its handlers one at a time, and never while a function
// passed to ExtensionConn.Do runs. So a handler needs no lock for state that only its methods and
// such functions use. The methods are called on the goroutine that received the message. They must
// return soon and must not block: Calls wait for them. They may call every method of ExtensionConn
// except Do, and of Conn those that return state: Extension, XID, Terms, MaxTerms, RemoteAddr,
// Stats, Done and Err.
//
// Messages of the peer are passed on in the order in which they came. Between them and Calls there
// is no order: a handler of a Call may run before or after the message that came just before it.
//
// A panic in a method closes the connection (ErrPanic).
type ExtensionHandler interface {
	// Properties is called once, when the peer's first set of properties is judged. set has the
	// values of this extension's properties in it, and is empty if the peer sent none. A property
	// that is not in set has its default value. A set with an invalid value is refused by BAD_XDR
	// as a whole, and later sets change nothing.
	//
	// It is called before Dial returns if the first message of the server has properties, as with
	// servers of this package. A peer that sends none causes no call. Messages may come before it.
	Properties(set []Property)

	// Receive takes a message of one of the extension's header types. Flags and body are valid: the
	// connection refuses others by INVAL_FLAG and BAD_XDR. The message belongs to the handler.
	Receive(m *ExtensionMessage)

	// Error takes an ERROR of the peer about a message that this handler sent, or one with an error
	// code of this extension that is about no Call. It is also called for a message that was not
	// sent after all. An ERROR about a Call fails that Call with a *PeerError, whatever the code.
	Error(e *ExtensionError)

	// Down is called once, when the connection is lost or closed. It is the last call.
	Down(err error)
}

// ReceiveSizer is an Extension that decides the size of Receives at the beginning of a connection.
// Only one of Config.Extensions may be one.
type ReceiveSizer interface {
	Extension

	// InitialReceiveSize returns the size in bytes of the Receives that are posted first, and that
	// this side advertises. It must be within 4096 and Config.InlineRecv. If zero, it is
	// Config.InlineRecv. Use a multiple of 1024 where version 1 is possible, because version 1
	// rounds the size down to one.
	InitialReceiveSize() int
}

// ReceiveResizer is an ExtensionHandler that uses ExtensionConn.SetReceiveSize.
type ReceiveResizer interface {
	ExtensionHandler

	// ReceivesReplaced is called when no posted Receive is smaller than size, the last size that
	// was set. Calls expect replies of that size from now on.
	ReceivesReplaced(size int)
}

// Property is a property of an extension with its value.
type Property struct {
	// ID is the number of the property.
	ID uint32

	// Value is the value, of the type that the descriptor has for the property.
	Value xdr.Value
}

// ExtensionMessage is a message with a header type that an extension defines.
type ExtensionMessage struct {
	// Type is the number of the header type.
	Type uint32

	// XID is the transaction ID. In a message that begins an exchange it is one of
	// ExtensionConn.XID, in an answer the XID of the message that it answers.
	XID uint32

	// Response is the RESPONSE flag: the receiver of the message has made the XID. Every header
	// type may have it. Nothing answers such a message, not even an ERROR.
	Response bool

	// Flags are the other flags. Those that the descriptor has for the header type are allowed.
	Flags uint32

	// Body is the body, of the type that the descriptor has for the header type. If that is void,
	// Body is nil.
	Body xdr.Value

	// Payload has the bytes after the body. The extension decides what they mean, and refuses those
	// that it does not expect.
	Payload []byte
}

// ExtensionError describes a message of an extension that failed.
type ExtensionError struct {
	// XID is the transaction ID of the message.
	XID uint32

	// Code is the code in the peer's ERROR, from the base protocol or the extension.
	// PeerErrHeaderType says that the peer does not know the header type.
	Code PeerErrorCode

	// Data are the data after the code, of the type that the descriptor has for an error code of
	// the extension. It is nil if they are missing or not valid. Data after other codes
	// are ignored.
	Data xdr.Value

	// Err is the reason why the message was not sent: a *SizeError, if the peer's Receives got
	// smaller while it waited. Code is 0 then. If nil, the peer sent Code in an ERROR.
	Err error

	name string // of Code
}

// Error returns the code with its name, or the reason.
func (e *ExtensionError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("rdmaio: message %#08x of an extension was not sent: %v", e.XID, e.Err)
	case e.name != "":
		return fmt.Sprintf("rdmaio: peer answered message %#08x of an extension: %s (error code %d)", e.XID, e.name, e.Code)
	}
	return fmt.Sprintf("rdmaio: peer answered message %#08x of an extension: error code %d", e.XID, e.Code)
}

// Unwrap returns Err.
func (e *ExtensionError) Unwrap() error { return e.Err }

// ErrUnsent reports that ExtensionConn.Send was called while 256 messages of extensions wait for
// credits of the peer.
var ErrUnsent = errors.New("rdmaio: too many messages of extensions wait for credits of the peer")
