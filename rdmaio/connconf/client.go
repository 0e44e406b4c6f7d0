package connconf

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Configure agrees with the server on a connection that no Call was made on yet, and sets
// its terms (R295, R296). false without an error says that the server does not have the protocol: nothing has
// changed (R298). An *oncrpc.ReplyError is the server's refusal.
func Configure(ctx context.Context, conn *rdmaio.Conn, cfg *Config) (bool, error) {
	own := cfg.reads()
	most := conn.MaxTerms()
	cred := oncrpc.None()
	if cfg != nil {
		cred = cfg.Cred
	}
	args := rdmaconfig.Req{MaxCallSendSize: uint32(most.InlineSend), MaxReplySendSize: uint32(most.InlineRecv), MaxRDMARead: own}
	var res rdmaconfig.Reply
	// The XID is one of the connection's: a constant one would be the Call of the connection before to a cache of replies.
	err := rpc.NewClient(conn, program, &rpc.ClientConfig{Cred: cred}).Call(ctx, rdmaconfig.ProcConfRDMA, &args, &res, nil)
	switch {
	case errors.Is(err, oncrpc.ErrProgUnavail), errors.Is(err, oncrpc.ErrProgMismatch), errors.Is(err, oncrpc.ErrProcUnavail):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("connconf: %w", err)
	}
	// The server may send less inline than we take, and does not say: replies are
	// expected as small as before, and may come as large as we said.
	return true, conn.SetTerms(rdmaio.Terms{
		InlineSend: int(min(res.MaxCallSendSize, math.MaxInt32)), InlineRecv: conn.Terms().InlineRecv,
		Reads:        terms(res.MaxRDMARead),
		NoReadChunks: own == 0 || res.MaxRDMARead == 0, // T124: either can be meant
	})
}

// Connected is Configure as rdmaio.ClientConfig wants it.
func Connected(cfg *Config) func(context.Context, *rdmaio.Conn) error {
	return func(ctx context.Context, conn *rdmaio.Conn) error {
		_, err := Configure(ctx, conn, cfg)
		return err
	}
}
