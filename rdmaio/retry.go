package rdmaio

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// newRetrier returns what makes Calls on connections of a source, and on a further one when that is
// lost. The XID stays the same, and Conn registers keys of the new connection (RFC 8166 §4.5.5;
// R284, R286). A Call is sent again as often as losses says. A Call that waited for a credit when
// the connection was lost was not sent. events is for Resent, or nil.
func newRetrier(src resend.Source[*Conn], losses int, turns func(*Conn, error) bool, events func(Event)) *resend.Retrier[*Conn] {
	cfg := resend.Config[*Conn]{
		Source: src, Losses: losses, Turns: turns,
		Lasting: func(_ context.Context, _ *Call, err error) bool { return lasting(err) },
	}
	if events != nil {
		cfg.Resent = func(c *Conn, call *Call, before error) {
			events(&Resent{RPC: c.rpcOf(call.Inline), Reason: before})
		}
	}
	return resend.New(cfg)
}

// lasting reports whether a Call would fail in the same way on another connection, or was
// cancelled.
func lasting(err error) bool {
	var (
		fault *Fault
		peer  *PeerError
		size  *SizeError
		auth  *hostauth.Error
	)
	if errors.As(err, &auth) || errors.As(err, &fault) || errors.As(err, &peer) || errors.As(err, &size) {
		return true
	}
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, ErrNoVersion, ErrMessage, ErrXIDInUse, ErrInvalidated, ErrReverse,
		verbs.ErrInvalidValue, verbs.ErrNotSupported, verbs.ErrDeviceRemoved, verbs.ErrTLS, verbs.ErrOtherProtocol,
		verbs.ErrProcessLimit,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
