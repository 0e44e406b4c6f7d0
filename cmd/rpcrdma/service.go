package main

import (
	"errors"
	"hash/crc32"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// service answers the perf program, and procedure 0 of every program.
type service struct{}

// ServeRPC implements rdmaio.Handler.
func (service) ServeRPC(r *rdmaio.Request) {
	d := xdr.NewDecoder(r.Message, &xdr.DecoderOptions{Alias: true})
	var head oncrpc.Message
	if head.DecodeXDR(d) != nil || head.Body.Type != oncrpc.Call {
		r.Reply(rdmaio.Message{}, nil) // no Call that could be answered; an empty message ends it
		return
	}
	d.ExpectAt(uint64(d.Offset()), r.Placed)
	stat, results := serve(&head, d)
	e := xdr.NewEncoder(make([]byte, 0, 64))
	var answer *oncrpc.Message
	switch stat {
	case oncrpc.ProgMismatch:
		answer = oncrpc.NewProgMismatch(head.XID, perf.Version1, perf.Version1)
	default:
		answer = oncrpc.NewReply(head.XID, stat)
	}
	err := answer.EncodeXDR(e)
	if err == nil && results != nil {
		e.Reduce(xdr.Reduction{Sites: []xdr.Site{perf.SiteReadResData}}, uint64(e.Len()))
		err = results.EncodeXDR(e)
	}
	if err != nil {
		e.Reset(nil)
		_ = oncrpc.NewReply(head.XID, oncrpc.SystemErr).EncodeXDR(e)
	}
	r.Reply(rdmaio.Message{Inline: e.Bytes(), Items: e.Items()}, nil)
}

// serve runs a procedure.
func serve(head *oncrpc.Message, d *xdr.Decoder) (oncrpc.AcceptStat, xdr.Value) {
	call := &head.Body.Call
	switch {
	case call.Proc == perf.ProcNull:
		return oncrpc.Success, nil
	case call.Prog != perf.Program:
		return oncrpc.ProgUnavail, nil
	case call.Vers != perf.Version1:
		return oncrpc.ProgMismatch, nil
	}
	switch call.Proc {
	case perf.ProcWrite:
		var args perf.WriteArgs
		if errors.Join(args.DecodeXDR(d), d.Done()) != nil {
			return oncrpc.GarbageArgs, nil
		}
		good := args.Check == 0 || args.Check == crc32.ChecksumIEEE(args.Data)
		return oncrpc.Success, &perf.WriteRes{Count: uint32(len(args.Data)), Good: good}
	case perf.ProcRead:
		var args perf.ReadArgs
		if errors.Join(args.DecodeXDR(d), d.Done()) != nil || args.Count > perf.MaxData {
			return oncrpc.GarbageArgs, nil
		}
		return oncrpc.Success, &perf.ReadRes{Data: perf.Pattern(args.Seed, int(args.Count))}
	}
	return oncrpc.ProcUnavail, nil
}
