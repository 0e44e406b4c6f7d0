package gss

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Caller describes the user that made a call, as RPCSEC_GSS has proved. It is read only.
type Caller struct {
	// Principal is the name of the user, and Mechanism the object identifier of the mechanism that
	// authenticated the user: see Info.
	Principal, Mechanism string

	// Acceptor is the name by which the user addressed this server.
	Acceptor string

	// Service is the protection of the arguments and results.
	Service Service
}

type callerKey struct{}

// FromContext returns the Caller of a call, from the context of its Request. It is nil if the call
// did not come through a Handler, or with another flavour.
func FromContext(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// Require returns nil if a call has the protection of a service or more: Privacy protects more than
// Integrity, and that more than None. Otherwise it returns an error that refuses the call with
// AUTH_TOOWEAK (RFC 2203 §5.2.1). Services use it to decide which calls they serve:
//
//	svc.Allow = func(r *rpc.Request) error { return gss.Require(r.Context(), gss.Privacy) }
func Require(ctx context.Context, least Service) error {
	c := FromContext(ctx)
	switch {
	case c == nil:
		return errors.Join(oncrpc.Refused(oncrpc.AuthStatTooWeak), fmt.Errorf("gss: the call has no RPCSEC_GSS credential, the service requires %v", least))
	case c.Service < least:
		return errors.Join(oncrpc.Refused(oncrpc.AuthStatTooWeak), fmt.Errorf("gss: the call of %q has %v, the service requires %v", c.Principal, c.Service, least))
	}
	return nil
}
