package tcp

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/internal/resend"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// newRetrier returns a Retrier, which sends a Call again as often as losses says.
func newRetrier(src resend.Source[*Conn], losses int) *resend.Retrier[*Conn] {
	return resend.New(resend.Config[*Conn]{Source: src, Losses: losses, Lasting: lasting})
}

// lasting reports whether a Call would fail in the same way on another connection, or was given up.
func lasting(ctx context.Context, call *oncrpc.Call, err error) bool {
	return ctx.Err() != nil || resend.Late(call, err) || errors.Is(err, oncrpc.ErrMessage) || errors.Is(err, ErrTLS) || failsAlone(err)
}
