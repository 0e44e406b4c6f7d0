package connconf

import (
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// program is the program of the protocol. It has no Bindings: nothing is eligible for RDMA (R295).
var program = oncrpc.Program{Number: rdmaconfig.Program, Version: rdmaconfig.ProgramVers1}

// align is the alignment that we recommend for opaque data: XDR's.
const align = 4

// Handler returns a handler that answers the calls of the protocol and passes all others to next.
// It sets the terms of the connection before it replies. cfg may be nil.
func Handler(next rdmaio.Handler, cfg *Config) rdmaio.Handler {
	svc := rpc.NewService(program) // R293: procedure 0 included
	if cfg != nil {
		svc.Allow = cfg.Allow // R299
	}
	rpc.Handle(svc, rdmaconfig.ProcConfRDMA, func(r *rpc.Request, args *rdmaconfig.Req, res *rdmaconfig.Reply) error {
		conn, ok := r.Conn().(*rdmaio.Conn)
		if !ok || conn.Terms().Version > 1 { // version 2 negotiates sizes itself
			return &oncrpc.ReplyError{Accept: oncrpc.ProgUnavail}
		}
		res.Align, res.MaxRDMARead = align, cfg.reads()
		err := conn.SetTerms(rdmaio.Terms{
			InlineSend: int(min(args.MaxReplySendSize, math.MaxInt32)), InlineRecv: conn.MaxTerms().InlineRecv,
			Reads: terms(args.MaxRDMARead), NoReadChunks: args.MaxRDMARead == 0,
		})
		res.MaxCallSendSize = uint32(conn.Terms().InlineRecv)
		return err
	})
	return rpc.NewHandler(&rpc.HandlerConfig{Next: next}, svc)
}
