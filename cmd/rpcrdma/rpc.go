package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// perfV1 is the program that measurements are made with.
var perfV1 = oncrpc.Program{Number: perf.Program, Version: perf.Version1, Bindings: perf.DDPBindings()}

// explain says at which stage a Call or connection failed, and what to try.
func explain(stage, addr string, err error) *failure {
	f := &failure{code: exitFailed, stage: stage + " to " + addr, err: err}
	var (
		rejected *verbs.RejectedError
		peer     *rdmaio.PeerError
		reply    *oncrpc.ReplyError
		call     *rdmaio.CallError
		decoding *xdr.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		f.code, f.err = exitFailed, errors.New("interrupted")
	case errors.Is(err, verbs.ErrConnectionRefused):
		f.help = "is the server running, and is this its port? RPC over RDMA has a port of its own, " + defaultPort + " for NFS"
	case errors.As(err, &rejected):
		f.code, f.help = exitPeer, "the server's log: it has no resources for a connection, or does not want this one"
	case errors.Is(err, context.DeadlineExceeded):
		f.code = exitSilent
		f.err = fmt.Errorf("no answer in time: %w", err)
		if errors.As(err, &call) && !call.MayHaveRun {
			f.help = "why the calls before this one were not answered: they still hold all credits (RFC 8166 §3.3.1)"
			break
		}
		f.help = "-W with more time; whether something between here and there drops packets; whether the server speaks this provider's protocol"
	case errors.As(err, &peer) && peer.Code == rdmaio.PeerErrVers:
		f.code, f.help = exitPeer, "a server of RPC-over-RDMA version 1: that is what this tool speaks"
	case errors.As(err, &peer):
		f.code, f.help = exitPeer, "the server's log; smaller -size"
	case errors.As(err, &reply):
		f.code = exitPeer
		switch {
		case errors.Is(err, oncrpc.ErrProgUnavail), errors.Is(err, oncrpc.ErrProgMismatch):
			f.help = "-prog and -vers of something that the server has; for perf a server that rpcrdma serve started"
		}
	case errors.As(err, &decoding):
		f.code, f.help = exitPeer, "whether -prog and -vers are those of the server: its answer is no RPC reply, or not that of this procedure"
	case errors.Is(err, segment.BadVersion) && stage == "connection":
		f.help = "a server of this provider's protocol: something else listens there"
	case errors.Is(err, verbs.ErrPeerDisconnected) && stage == "connection":
		f.help = "whether a server of this provider's protocol listens there: something else took the connection and closed it"
	case errors.Is(err, verbs.ErrPeerDisconnected), errors.Is(err, verbs.ErrConnectionBroken):
		f.help = "the server's log: the connection was there, and is lost"
	}
	return f
}
