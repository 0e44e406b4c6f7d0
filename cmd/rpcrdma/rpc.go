package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// perfV1 is the RPC program of rpcrdma perf.
var perfV1 = oncrpc.Program{Number: perf.Program, Version: perf.Version1, Bindings: perf.DDPBindings(), Name: "PERF1",
	Procedures: map[uint32]string{perf.ProcWrite: "WRITE", perf.ProcRead: "READ"}}

// explain returns a failure with the stage at which a connection or Call failed, the exit code, and
// advice.
func explain(stage, addr string, err error) *failure {
	f := explainDevice(stage+" to "+addr, err)
	if f.help != "" {
		return f
	}
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
		f.help = "start the server, or check the port: RPC over RDMA does not use the port of TCP; for NFS it is " + defaultPort
	case errors.Is(err, verbs.ErrTLS):
		f.help = adviceTLS(err, "-tls, -cert, -key, -ca and -tls-name that suit the server (rpcrdma help ping); its log has what it found")
	case errors.As(err, &rejected):
		f.code, f.help = exitPeer, "read the server's log: it lacks resources for the connection, or refuses this client"
	case errors.Is(err, rdmaio.ErrNoVersion):
		f.code, f.help = exitPeer, adviceVers
	case errors.Is(err, rdmaio.ErrNoAnswer):
		f.code, f.help = exitSilent, adviceAnswer
	case errors.Is(err, context.DeadlineExceeded):
		f.code = exitSilent
		f.err = fmt.Errorf("no answer in time: %w", err)
		if errors.As(err, &call) && !call.MayHaveRun {
			f.help = "find out why the server did not answer the calls before this one: they hold all credits (RFC 8166 §3.3.1)"
			break
		}
		f.help = "a longer -W; check that no firewall drops the packets, and that the server speaks this provider's protocol"
	case errors.As(err, &peer):
		f.code, f.help = exitPeer, advise(peer)
	case errors.As(err, &reply):
		f.code = exitPeer
		switch {
		case errors.Is(err, oncrpc.ErrProgUnavail), errors.Is(err, oncrpc.ErrProgMismatch):
			f.help = "-prog and -vers of a program that the server has; for perf, a server started by rpcrdma serve"
		}
	case errors.As(err, &decoding):
		f.code, f.help = exitPeer, "-prog and -vers of a program that the server has: its answer is not a valid RPC reply to this procedure"
	case errors.Is(err, verbs.ErrOtherProtocol):
		f.help = "the address of a server for this provider: a server of another protocol listens there"
	case errors.Is(err, verbs.ErrPeerDisconnected), errors.Is(err, verbs.ErrConnectionBroken):
		f.help = "read the server's log: the connection was established and then lost"
	}
	return f
}

// explainDial is explain for a connection that a device with these flags has failed to make. A
// server of another protocol closes it without an answer.
func explainDial(flags *deviceFlags, addr string, err error) *failure {
	f := explain("connection", addr, err)
	other := map[string]string{"rdmatcp": "iwarp", "iwarp": "rdmatcp"}[flags.Provider.name()]
	if other == "" || f.code != exitFailed || !errors.Is(err, verbs.ErrPeerDisconnected) {
		return f
	}
	f.help = "-provider " + other + ", if the server speaks that: the peer accepted the TCP connection and closed it; " +
		"-carrier tcp, if it is a server of ONC RPC over TCP; otherwise check the port, and read the server's log"
	if flags.TLS {
		f.help = "no -tls, if the server does not have TLS; " + f.help
	}
	return f
}
