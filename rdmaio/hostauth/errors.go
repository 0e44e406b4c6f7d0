package hostauth

import (
	"errors"
	"fmt"
)

// Errors for errors.Is. Every error of an exchange is an *[Error] of one of these kinds.
var (
	// ErrLocal reports a fault of this side: its configuration, signer or source of randomness.
	ErrLocal = errors.New("hostauth: fault of this side")
	// ErrMalformed reports a message that is not encoded as the method requires.
	ErrMalformed = errors.New("hostauth: malformed message")
	// ErrVersion reports a message of another method or method version.
	ErrVersion = errors.New("hostauth: message of another method or version")
	// ErrOrder reports a message, or a call, that the state of the exchange does not allow.
	ErrOrder = errors.New("hostauth: message out of order")
	// ErrLimit reports a peer that exceeded the Limits.
	ErrLimit = errors.New("hostauth: limit exceeded")
	// ErrReflected reports a message that this side had sent, and that came back.
	ErrReflected = errors.New("hostauth: own message came back")
	// ErrTranscript reports that the two ends saw different messages, properties or channel
	// bindings. An attacker changed or relayed them.
	ErrTranscript = errors.New("hostauth: the two ends saw different data")
	// ErrSignature reports a signature that does not match the peer's key and the exchange.
	ErrSignature = errors.New("hostauth: signature not valid")
	// ErrUntrusted reports a peer that proved to hold its key, which this side does not accept.
	ErrUntrusted = errors.New("hostauth: peer not accepted")
	// ErrCertificate reports a certificate that is expired, or has the wrong name, the wrong usage,
	// an unknown issuer or an unusable key. The error wraps the error of crypto/x509.
	ErrCertificate = errors.New("hostauth: certificate not accepted")
)

// Error is the failure of an exchange. Of keys its text has only fingerprints of public ones.
type Error struct {
	// Kind is one of this package's errors.
	Kind error

	// Role is the role of the side that detected the failure. It is zero in errors of constructors.
	Role Role

	// Detail has the fault, the expected value and the remedy.
	Detail string

	// Err is the cause. It may be nil. Error does not include Err's text, because that may contain
	// text from the peer. Detail has that text with control characters escaped.
	Err error
}

// Error returns the kind, the role of this side and the detail.
func (e *Error) Error() string {
	if e.Role != Client && e.Role != Server {
		return fmt.Sprintf("%v: %s", e.Kind, e.Detail)
	}
	return fmt.Sprintf("%v (%v side): %s", e.Kind, e.Role, e.Detail)
}

// Unwrap returns Kind and Err.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
