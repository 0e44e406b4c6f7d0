package connconf

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Configure negotiates the limits of a connection on which no Call was made yet, and sets them as
// its terms (R295, R296). It returns false and no error, and changes nothing, if the server does
// not serve the protocol (R298), and without a call if the connection has version 2. If the server
// refuses the credential, the limits do not change either, and the error wraps oncrpc.ErrAuth,
// unless Config.IgnoreRefusal is set.
func Configure(ctx context.Context, conn *rdmaio.Conn, cfg *Config) (bool, error) {
	if conn.Terms().Version > 1 {
		return false, nil
	}
	own := cfg.reads()
	most := conn.MaxTerms()
	var carrier oncrpc.Carrier = conn
	cred, ignore := oncrpc.None(), false
	if cfg != nil {
		cred, ignore = cfg.Cred, cfg.IgnoreRefusal
	}
	if cfg != nil && cfg.Carrier != nil {
		var err error
		if carrier, err = cfg.Carrier(conn); err != nil {
			return false, fmt.Errorf("connconf: Config.Carrier: %w", err)
		}
		if c, ok := carrier.(interface{ Close(context.Context) error }); ok {
			defer func() { _ = c.Close(ctx) }() // the server deletes the context later by itself
		}
	}
	args := rdmaconfig.Req{MaxCallSendSize: uint32(most.InlineSend), MaxReplySendSize: uint32(most.InlineRecv), MaxRDMARead: own}
	var res rdmaconfig.Reply
	// rpc.Client uses an XID of the connection. With a constant one, a reply cache would take the
	// call for a retransmission of an earlier connection's.
	err := rpc.NewClient(carrier, program, &rpc.ClientConfig{Cred: cred}).Call(ctx, rdmaconfig.ProcConfRDMA, &args, &res, nil)
	switch {
	case errors.Is(err, oncrpc.ErrProgUnavail), errors.Is(err, oncrpc.ErrProgMismatch), errors.Is(err, oncrpc.ErrProcUnavail):
		return false, nil
	case ignore && errors.Is(err, oncrpc.ErrAuth):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("connconf: %w", err)
	}
	// The reply does not say how much the server sends inline, which may be less than we receive.
	// So we plan for replies as small as before; larger ones are received, too.
	return true, conn.SetTerms(rdmaio.Terms{
		InlineSend: int(min(res.MaxCallSendSize, math.MaxInt32)), InlineRecv: conn.Terms().InlineRecv,
		Reads:        terms(res.MaxRDMARead),
		NoReadChunks: own == 0 || res.MaxRDMARead == 0, // T124: the draft allows both readings of 0
	})
}

// Connected returns Configure as a function for rdmaio.ClientConfig.Connected. It fails if the
// server refuses the call, unless Config.IgnoreRefusal is set, but not if it does not serve the
// protocol.
func Connected(cfg *Config) func(context.Context, *rdmaio.Conn) error {
	return func(ctx context.Context, conn *rdmaio.Conn) error {
		_, err := Configure(ctx, conn, cfg)
		return err
	}
}
