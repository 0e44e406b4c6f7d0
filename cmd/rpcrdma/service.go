package main

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// newService returns a handler for the perf program, the program of conform, and for procedure 0 of
// every program.
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
	return rpc.NewHandler(&rpc.HandlerConfig{Next: rdmaio.HandlerFunc(pong)}, svc, conform.NewService())
}

// pong answers calls of all other programs: procedure 0 with success, all else with PROG_UNAVAIL.
func pong(r *rdmaio.Request) {
	xid, _, _ := oncrpc.Peek(r.Message)
	reply, err := pongReply(xid, r.Message).AppendBinary(nil)
	if err != nil {
		r.Drop(nil) // impossible: its size is fixed
		return
	}
	r.Reply(rdmaio.Message{Inline: reply}, nil)
}

// pongReply returns the reply to a call, which RFC 5531 §9 requires to be checked in this order.
func pongReply(xid uint32, call []byte) *oncrpc.Header {
	var head oncrpc.Header
	err := head.UnmarshalBinary(call)
	cred := &head.Body.Call.Cred
	switch {
	case len(call) >= 12 && binary.BigEndian.Uint32(call[8:]) != oncrpc.Version:
		return oncrpc.NewRPCMismatch(xid)
	case err != nil:
		return oncrpc.NewReply(xid, oncrpc.GarbageArgs)
	case cred.Flavor == oncrpc.RPCSecGSS:
		return oncrpc.NewAuthError(xid, oncrpc.AuthStatRejectedCred)
	}
	if refusal := oncrpc.CheckCred(cred); refusal != nil {
		return refusal.Header(xid)
	}
	if head.Body.Call.Proc != 0 {
		return oncrpc.NewReply(xid, oncrpc.ProgUnavail)
	}
	return oncrpc.NewReply(xid, oncrpc.Success)
}
