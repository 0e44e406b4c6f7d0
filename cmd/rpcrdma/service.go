package main

import (
	"hash/crc32"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// newService returns a handler for the perf program and for procedure 0 of every program.
func newService() rdmaio.Handler {
	svc := rpc.NewService(perfV1)
	rpc.Handle(svc, perf.ProcWrite, func(_ *rpc.Request, args *perf.WriteArgs, res *perf.WriteRes) error {
		res.Count = uint32(len(args.Data))
		res.Good = args.Check == 0 || args.Check == crc32.ChecksumIEEE(args.Data)
		return nil
	})
	rpc.Handle(svc, perf.ProcRead, func(_ *rpc.Request, args *perf.ReadArgs, res *perf.ReadRes) error {
		if args.Count > perf.MaxData {
			return oncrpc.ErrGarbageArgs
		}
		res.Data = perf.Pattern(args.Seed, int(args.Count))
		return nil
	})
	return rpc.NewHandler(&rpc.HandlerConfig{Next: rdmaio.HandlerFunc(pong)}, svc)
}

// pong answers calls of all other programs: procedure 0 with success, all else with PROG_UNAVAIL.
func pong(r *rdmaio.Request) {
	var head oncrpc.Header
	stat := oncrpc.ProgUnavail
	if head.UnmarshalBinary(r.Message) == nil && head.Body.Call.Proc == 0 {
		stat = oncrpc.Success
	}
	xid, _, _ := oncrpc.Peek(r.Message)
	reply, err := oncrpc.NewReply(xid, stat).AppendBinary(nil)
	if err != nil {
		r.Drop(nil) // impossible: its size is fixed
		return
	}
	r.Reply(rdmaio.Message{Inline: reply}, nil)
}
