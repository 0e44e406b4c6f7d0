package connconf

import (
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// program is the protocol's; nothing of it is eligible for RDMA (R295).
var program = oncrpc.Program{Number: rdmaconfig.Program, Version: rdmaconfig.ProgramVers1}

// align is the alignment that we recommend for opaque data: what XDR has anyway.
const align = 4

// Handler answers the Calls of the protocol, and leaves all others to next. A connection
// has its new terms before the reply goes out.
func Handler(next rdmaio.Handler, cfg *Config) rdmaio.Handler {
	svc := rpc.NewService(program) // R293: procedure 0 included
	svc.Allow = cfg.allow()
	rpc.Handle(svc, rdmaconfig.ProcConfRDMA, func(r *rpc.Request, args *rdmaconfig.Req, res *rdmaconfig.Reply) error {
		conn := r.Conn()
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
