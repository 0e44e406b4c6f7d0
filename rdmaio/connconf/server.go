package connconf

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// align is the alignment that we recommend for opaque data: what XDR has anyway.
const align = 4

// Handler answers the Calls of the protocol, and leaves all others to next. A connection
// has its new terms before the reply goes out.
func Handler(next rdmaio.Handler, cfg *Config) rdmaio.Handler {
	return rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if program(r.Message) != rdmaconfig.Program {
			next.ServeRPC(r)
			return
		}
		e := xdr.NewEncoder(nil)
		answer, results := serve(r, cfg)
		err := answer.EncodeXDR(e)
		if err == nil && results != nil {
			err = results.EncodeXDR(e)
		}
		if err != nil { // cannot be: all that it has is of fixed size
			r.Drop(nil)
			return
		}
		r.Reply(rdmaio.Message{Inline: e.Bytes()}, nil)
	})
}

// program is that of a Call, without looking at the rest; 0 if there is none.
func program(m []byte) uint32 {
	if len(m) < 16 {
		return 0
	}
	return binary.BigEndian.Uint32(m[12:])
}

// serve runs a Call.
func serve(r *rdmaio.Request, cfg *Config) (*oncrpc.Message, *rdmaconfig.Reply) {
	xid := binary.BigEndian.Uint32(r.Message)
	d := xdr.NewDecoder(r.Message, nil)
	var head oncrpc.Message
	if err := head.DecodeXDR(d); err != nil {
		return oncrpc.NewReply(xid, oncrpc.GarbageArgs), nil // R328
	}
	call := &head.Body.Call
	switch {
	case call.Rpcvers != oncrpc.Version:
		return oncrpc.NewRPCMismatch(xid), nil
	case call.Vers != rdmaconfig.ProgramVers1:
		return oncrpc.NewProgMismatch(xid, rdmaconfig.ProgramVers1, rdmaconfig.ProgramVers1), nil
	case call.Proc == 0: // R293: every program has a procedure that does nothing
		return oncrpc.NewReply(xid, oncrpc.Success), nil
	case call.Proc != rdmaconfig.ProcConfRDMA:
		return oncrpc.NewReply(xid, oncrpc.ProcUnavail), nil
	}
	if why := cfg.allow(call); why != oncrpc.AuthStatAuthOk { // R299
		return oncrpc.NewAuthError(xid, why), nil
	}
	var args rdmaconfig.Req
	if errors.Join(args.DecodeXDR(d), d.Done()) != nil || len(r.Placed) > 0 { // R295: it goes inline
		return oncrpc.NewReply(xid, oncrpc.GarbageArgs), nil
	}
	conn := r.Conn()
	if err := conn.SetTerms(rdmaio.Terms{
		InlineSend: int(min(args.MaxReplySendSize, math.MaxInt32)), InlineRecv: conn.MaxTerms().InlineRecv,
		Reads: terms(args.MaxRDMARead), NoReadChunks: args.MaxRDMARead == 0,
	}); err != nil {
		return oncrpc.NewReply(xid, oncrpc.SystemErr), nil
	}
	return oncrpc.NewReply(xid, oncrpc.Success), &rdmaconfig.Reply{
		MaxCallSendSize: uint32(conn.Terms().InlineRecv), Align: align, MaxRDMARead: cfg.reads(),
	}
}
