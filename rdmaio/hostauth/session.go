package hostauth

import (
	"cmp"
	"fmt"
	"math"
)

// The default Limits.
const (
	DefaultMaxRounds = 8        // messages
	DefaultMaxBytes  = 64 << 10 // bytes
)

// Limits bound what a peer may send in one exchange (T106). The zero value has the default in every
// field.
type Limits struct {
	// Rounds is the largest number of messages accepted from the peer. If zero, the default is
	// DefaultMaxRounds. If negative, there is no limit.
	Rounds int

	// Bytes is the largest size of all these messages together, in bytes. If zero, the default is
	// DefaultMaxBytes. If negative, there is no limit.
	Bytes int
}

// Session is the exchange of one connection, with the order of calls and the Limits enforced. Its
// methods are not safe for concurrent use. After an error every call returns that error, and Peer
// returns false: the connection is to be closed.
type Session struct {
	exchange      Exchange
	role          Role
	limits        Limits // after defaults
	rounds, bytes int    // received
	begun, done   bool
	parts         []byte // of a message of the peer, see ReceiveValue
	peerDone      bool
	err           error
}

// NewSession starts an exchange of method on a connection. It sends nothing.
func NewSession(method Method, info Info, limits Limits) (*Session, error) {
	if err := info.check(); err != nil {
		return nil, err
	}
	exchange, err := method.Start(info)
	if err != nil {
		return nil, err
	}
	limits.Rounds = cmp.Or(limits.Rounds, DefaultMaxRounds)
	limits.Bytes = cmp.Or(limits.Bytes, DefaultMaxBytes)
	return &Session{exchange: exchange, role: info.Role, limits: limits}, nil
}

// Begin begins the exchange. The caller sends the message of the Step, if it has one. Begin is
// called once, before Receive, on both sides.
func (s *Session) Begin() (Step, error) {
	if s.err == nil && s.begun {
		return s.fail(ErrOrder, "Begin called twice: call it once for each connection")
	}
	s.begun = true
	return s.step(s.exchange.Begin)
}

// Receive takes a message of the peer, which may be empty. It does not keep msg. The caller sends
// the message of the Step, if it has one.
func (s *Session) Receive(msg []byte) (Step, error) {
	switch {
	case s.err != nil: // step returns it
	case !s.begun:
		return s.fail(ErrOrder, "Receive called before Begin: call Begin first")
	case s.done:
		return s.fail(ErrOrder, fmt.Sprintf("a message of %d bytes came after the exchange was done", len(msg)))
	case s.limits.Rounds >= 0 && s.rounds == s.limits.Rounds:
		return s.fail(ErrLimit, fmt.Sprintf("the peer sent more than %d messages: raise Limits.Rounds if the method needs more", s.limits.Rounds))
	case len(msg) > s.MaxMessage():
		s.err = s.tooLong(len(msg))
		return Step{}, s.err
	}
	s.rounds++
	s.bytes += len(msg)
	return s.step(func() (Step, error) { return s.exchange.Receive(msg) })
}

// MaxMessage returns the size of the largest message that Receive accepts next, in bytes. A
// connection refuses a larger one before it has received all of it. The result is also 0 if Receive
// would refuse every message.
func (s *Session) MaxMessage() int {
	switch {
	case s.err != nil || s.done || s.limits.Rounds >= 0 && s.rounds == s.limits.Rounds:
		return 0
	case s.limits.Bytes < 0:
		return math.MaxInt
	}
	return s.limits.Bytes - s.bytes
}

// tooLong is the error for a message that has n bytes or more.
func (s *Session) tooLong(n int) error {
	return &Error{Kind: ErrLimit, Role: s.role, Detail: fmt.Sprintf(
		"the peer's message has %d bytes, expected at most %d after %d of %d: raise Limits.Bytes if the method needs more", n, s.MaxMessage(), s.bytes, s.limits.Bytes)}
}

// Peer returns the identity of the peer once a Step was Done. It returns false before, after an
// error, and if the method does not authenticate the peer of this role.
func (s *Session) Peer() (Peer, bool) {
	if !s.done || s.err != nil {
		return Peer{}, false
	}
	return s.exchange.Peer()
}

// step calls the exchange, unless it has failed, and records the result.
func (s *Session) step(call func() (Step, error)) (Step, error) {
	if s.err != nil {
		return Step{}, s.err
	}
	step, err := call()
	if err != nil {
		s.err = err
		return Step{}, err
	}
	s.done = step.Done
	return step, nil
}

// fail stops the exchange with an error.
func (s *Session) fail(kind error, detail string) (Step, error) {
	s.err = &Error{Kind: kind, Role: s.role, Detail: detail}
	return Step{}, s.err
}
