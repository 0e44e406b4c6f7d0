package oncrpc

import (
	"errors"
	"fmt"
)

// Sentinels for errors.Is on what [CheckReply] returns.
var (
	ErrProgUnavail  = errors.New("oncrpc: program unavailable")
	ErrProgMismatch = errors.New("oncrpc: program version not supported")
	ErrProcUnavail  = errors.New("oncrpc: procedure unavailable")
	ErrGarbageArgs  = errors.New("oncrpc: arguments could not be decoded")
	ErrSystem       = errors.New("oncrpc: system error at the server")
	ErrRPCMismatch  = errors.New("oncrpc: RPC version not supported")
	ErrAuth         = errors.New("oncrpc: credential refused")
)

// ReplyError is a reply that refuses a call. The server took the message and
// answered it: the procedure was not run, except that a system error may come
// after a part of it.
type ReplyError struct {
	Reply  ReplyStat
	Accept AcceptStat   // where Reply is Accepted
	Reject RejectStat   // where Reply is Denied
	Auth   AuthStat     // where Reject is AuthError
	Range  VersionRange // where Accept is ProgMismatch or Reject is RPCMismatch
}

// kind is the sentinel for e.
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

// Error says what the server refused, and what it would take.
func (e *ReplyError) Error() string {
	switch kind := e.kind(); kind {
	case ErrProgMismatch, ErrRPCMismatch:
		return fmt.Sprintf("%v: the server has versions %d to %d (RFC 5531 §9)", kind, e.Range.Low, e.Range.High)
	case ErrAuth:
		return fmt.Sprintf("%v: %v (RFC 5531 §9)", kind, e.Auth)
	default:
		return fmt.Sprintf("%v (RFC 5531 §9)", kind)
	}
}

// CheckReply returns nil if m is the successful reply to call xid, so that
// results follow; a *ReplyError if the server refused the call; another error
// if m is no reply to it.
func CheckReply(m *Message, xid uint32) error {
	switch {
	case m.Body.Type != Reply:
		return fmt.Errorf("oncrpc: message is %v, expected %v (RFC 5531 §9)", m.Body.Type, Reply)
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

// Refused is the error of a server that refuses a call's credential, as its caller will see it.
func Refused(why AuthStat) *ReplyError {
	return &ReplyError{Reply: Denied, Reject: AuthError, Auth: why}
}

// Refusal is what of err a server tells its caller: a [*ReplyError] in err as it is, one of the
// sentinels as the plain reply of that kind, and anything else as a system error, since replies have no text.
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

// Message is the header of the reply to call xid that says e.
func (e *ReplyError) Message(xid uint32) *Message {
	m := &Message{XID: xid, Body: Body{Type: Reply}}
	r := &m.Body.Reply
	if r.Stat = e.Reply; e.Reply == Denied {
		r.Rejected = RejectedReply{Stat: e.Reject, AuthStat: e.Auth, MismatchInfo: e.Range}
		return m
	}
	r.Accepted.Data = ReplyData{Stat: e.Accept, MismatchInfo: e.Range}
	return m
}
