package gss

import (
	"context"
	"fmt"
)

// Initiator is the client's side of a GSS-API mechanism, with the credentials of one user for one
// server. It may be called concurrently, for different contexts.
type Initiator interface {
	// InitSecContext is GSS_Init_sec_context (RFC 2743 §2.2.1). c is nil for a new context, and
	// otherwise the context that the previous step returned. token is the server's token, nil for a
	// new context; it is valid until the method returns. The method asks for mutual authentication,
	// integrity and confidentiality. It asks neither for replay detection nor for sequencing (RFC
	// 2203 §5.2.2): calls arrive in any order.
	//
	// After an error the establishment has failed. The caller then deletes c.
	InitSecContext(ctx context.Context, c Context, token []byte) (Step, error)
}

// Acceptor is the server's side of a GSS-API mechanism, or of several: tokens name theirs
// (RFC 2743 §3.1). It may be called concurrently, for different contexts.
type Acceptor interface {
	// AcceptSecContext is GSS_Accept_sec_context (RFC 2743 §2.2.2). c is nil for a new context, and
	// otherwise the context that the previous step returned. token is the client's token, of any
	// content and at most 128 KiB; it is valid until the method returns. ctx ends with the client's
	// connection.
	//
	// After an error the establishment has failed. The caller then deletes c. The client gets the
	// numbers of a *StatusError, or else GSS_S_FAILURE.
	AcceptSecContext(ctx context.Context, c Context, token []byte) (Step, error)
}

// Step is the result of one step in an establishment.
type Step struct {
	// Context is the context. It belongs to the caller, and the caller deletes it.
	Context Context

	// Token is the token for the peer. If empty, no token is sent. It must not change any more.
	Token []byte

	// Complete reports GSS_S_COMPLETE. If false, the result is GSS_S_CONTINUE_NEEDED, and the next
	// step needs a token of the peer.
	Complete bool
}

// Context is a security context of a mechanism. GetMIC, VerifyMIC, Wrap, Unwrap and Inquire are
// called when the context is complete, concurrently and in any order. The quality of protection is
// the default one.
//
// Methods that append do as append does: they may write to the memory of dst beyond its length. No
// method keeps an argument.
type Context interface {
	// GetMIC is GSS_GetMIC (RFC 2743 §2.3.1). It appends the checksum of message to dst. message
	// may be a part of dst.
	GetMIC(dst, message []byte) ([]byte, error)

	// VerifyMIC is GSS_VerifyMIC (RFC 2743 §2.3.2). It returns nil if mic is the peer's checksum of
	// message.
	VerifyMIC(message, mic []byte) error

	// Wrap is GSS_Wrap with conf_req_flag (RFC 2743 §2.3.3). It appends message to dst, encrypted.
	Wrap(dst, message []byte) ([]byte, error)

	// Unwrap is GSS_Unwrap (RFC 2743 §2.3.4). It appends the message in token to dst. A token is an
	// error if it is not encrypted, or if this side made it.
	Unwrap(dst, token []byte) ([]byte, error)

	// Inquire is GSS_Inquire_context (RFC 2743 §2.2.6).
	Inquire() Info

	// Delete is GSS_Delete_sec_context (RFC 2743 §2.2.3). It erases the keys. It is called once,
	// for incomplete contexts as well. No other method runs then or later.
	Delete()
}

// Info describes a Context.
type Info struct {
	// Mechanism is the object identifier of the mechanism, as in "1.2.840.113554.1.2.2".
	Mechanism string

	// Initiator and Acceptor are the names of the two sides, in the mechanism's printable form, as
	// in "alice@EXAMPLE.ORG". Two users of a mechanism never have the same name.
	Initiator, Acceptor string

	// MICSize is the size of the longest checksum in bytes, at most 400. WrapOverhead is the number
	// of bytes by which a token of Wrap is longer than its message, at most
	// (GSS_Wrap_size_limit, RFC 2743 §2.2.7).
	MICSize, WrapOverhead int
}

// StatusError is a failure of GSS-API. Mechanisms return it, and so does Carrier.Call if the server
// could not make a context.
type StatusError struct {
	// Major is the GSS-API status (RFC 2203 Appendix A), and Minor the mechanism's status.
	Major, Minor uint32

	// Err is the reason, if it is known.
	Err error
}

// The major status codes that this package uses (RFC 2203 Appendix A).
const (
	StatusComplete           = 0
	StatusContinueNeeded     = 1
	StatusBadMIC             = 0x00060000
	StatusDefectiveToken     = 0x00090000
	StatusCredentialsExpired = 0x000b0000
	StatusContextExpired     = 0x000c0000
	StatusFailure            = 0x000d0000
)

// Error returns the numbers and the reason.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("gss: major status %#08x, minor status %d (RFC 2203 Appendix A)", e.Major, e.Minor)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the reason.
func (e *StatusError) Unwrap() error { return e.Err }

// maxToken is the largest size of a token in an establishment, in bytes. A Kerberos ticket with the
// groups of its user has up to 64 KiB.
const maxToken = 128 << 10

// maxSteps is the largest number of tokens that one side sends in an establishment. Kerberos has
// one, and negotiated mechanisms two or three.
const maxSteps = 8
