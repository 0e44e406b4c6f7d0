package oncrpc

import (
	"errors"
	"fmt"
)

// The sentinels for errors.Is on an error of [CheckReply].
var (
	ErrProgUnavail  = errors.New("oncrpc: program unavailable")
	ErrProgMismatch = errors.New("oncrpc: program version not supported")
	ErrProcUnavail  = errors.New("oncrpc: procedure unavailable")
	ErrGarbageArgs  = errors.New("oncrpc: arguments could not be decoded")
	ErrSystem       = errors.New("oncrpc: system error at the server")
	ErrRPCMismatch  = errors.New("oncrpc: RPC version not supported")
	ErrAuth         = errors.New("oncrpc: credential refused")
)

// ReplyError is a reply that refuses a call. The server has not run the procedure, except that
// after a system error it may have run a part of it.
type ReplyError struct {
	Reply  ReplyStat
	Accept AcceptStat   // if Reply is Accepted
	Reject RejectStat   // if Reply is Denied
	Auth   AuthStat     // if Reject is AuthError
	Range  VersionRange // if Accept is ProgMismatch or Reject is RPCMismatch
}

// kind returns the sentinel for e.
func (e *ReplyError) kind() error {
	if e.Reply == Denied {
		if e.Reject == RPCMismatch {
			return ErrRPCMismatch
		}
		return ErrAuth
	}
	switch e.Accept {
	case ProgUnavail:
		return ErrProgUnavail
	case ProgMismatch:
		return ErrProgMismatch
	case ProcUnavail:
		return ErrProcUnavail
	case GarbageArgs:
		return ErrGarbageArgs
	}
	return ErrSystem
}

// Is reports whether target is the sentinel for e.
func (e *ReplyError) Is(target error) bool { return e.kind() == target }

// Error says what the server refused, and which versions it supports.
func (e *ReplyError) Error() string {
	switch kind := e.kind(); kind {
	case ErrProgMismatch, ErrRPCMismatch:
		return fmt.Sprintf("%v: the server has %s (RFC 5531 §9)", kind, versions(e.Range.Low, e.Range.High))
	case ErrSystem:
		return fmt.Sprintf("%v (RFC 5531 §9): the reason is in the server's log", kind)
	case ErrAuth:
		return fmt.Sprintf("%v: %v (RFC 5531 §9)", kind, e.Auth)
	default:
		return fmt.Sprintf("%v (RFC 5531 §9)", kind)
	}
}

// versions returns a range of versions as text.
func versions(low, high uint32) string {
	if low == high {
		return fmt.Sprintf("version %d", low)
	}
	return fmt.Sprintf("versions %d to %d", low, high)
}

// CheckReply returns nil if m is the successful reply to call xid, which results follow. It
// returns a *ReplyError if the server refused the call, and another error if m is not a reply to
// it.
func CheckReply(m *Header, xid uint32) error {
	switch {
	case m.Body.Type != MsgReply:
		return fmt.Errorf("oncrpc: message is %v, expected %v (RFC 5531 §9)", m.Body.Type, MsgReply)
	case m.XID != xid:
		return fmt.Errorf("oncrpc: reply has XID %#x, expected %#x (RFC 5531 §9)", m.XID, xid)
	}
	r := &m.Body.Reply
	if r.Stat == Denied {
		return &ReplyError{Reply: Denied, Reject: r.Rejected.Stat, Auth: r.Rejected.AuthStat, Range: r.Rejected.MismatchInfo}
	}
	if stat := r.Accepted.Data.Stat; stat != Success {
		return &ReplyError{Accept: stat, Range: r.Accepted.Data.MismatchInfo}
	}
	return nil
}

// Refused returns the error with which a server refuses the credential of a call.
func Refused(why AuthStat) *ReplyError {
	return &ReplyError{Reply: Denied, Reject: AuthError, Auth: why}
}

// Refusal returns the error that a server replies if a handler fails with err. It is the
// [*ReplyError] in err, if there is one, or the plain reply for a sentinel in err. All other
// errors become a system error: replies have no text.
func Refusal(err error) *ReplyError {
	var e *ReplyError
	if errors.As(err, &e) && *e != (ReplyError{}) { // the zero one would say Success
		return e
	}
	for _, k := range []struct {
		is error
		as ReplyError
	}{
		{ErrProgUnavail, ReplyError{Accept: ProgUnavail}},
		{ErrProcUnavail, ReplyError{Accept: ProcUnavail}},
		{ErrGarbageArgs, ReplyError{Accept: GarbageArgs}},
		{ErrAuth, ReplyError{Reply: Denied, Reject: AuthError, Auth: AuthStatFailed}},
	} {
		if errors.Is(err, k.is) {
			return &k.as
		}
	}
	return &ReplyError{Accept: SystemErr}
}

// Header returns the header of the reply to call xid that carries e.
func (e *ReplyError) Header(xid uint32) *Header {
	m := &Header{XID: xid, Body: Body{Type: MsgReply}}
	r := &m.Body.Reply
	if r.Stat = e.Reply; e.Reply == Denied {
		r.Rejected = RejectedReply{Stat: e.Reject, AuthStat: e.Auth, MismatchInfo: e.Range}
		return m
	}
	r.Accepted.Data = ReplyData{Stat: e.Accept, MismatchInfo: e.Range}
	return m
}
