package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/perf"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// caller makes one Call at a time, in memory that it uses again.
type caller struct {
	conn *rdmaio.Conn
	xids *atomic.Uint32 // of the connection
	enc  *xdr.Encoder
	dec  *xdr.Decoder
	buf  []byte
	call rdmaio.Call
	head oncrpc.Message
}

func newCaller(conn *rdmaio.Conn, xids *atomic.Uint32) *caller {
	return &caller{
		conn: conn, xids: xids, buf: make([]byte, 0, 512),
		enc: xdr.NewEncoder(nil), dec: xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}),
	}
}

// do makes a Call; args and results may be nil. What is decoded is valid until the next Call.
func (c *caller) do(ctx context.Context, prog, vers, proc uint32, cred oncrpc.OpaqueAuth, args, results xdr.Value, place []byte) error {
	xid := c.xids.Add(1)
	c.enc.Reset(c.buf[:0])
	err := oncrpc.NewCall(xid, prog, vers, proc, cred).EncodeXDR(c.enc)
	if err == nil && args != nil {
		c.enc.Reduce(xdr.Reduction{Sites: []xdr.Site{perf.SiteWriteArgsData}}, uint64(c.enc.Len()))
		err = args.EncodeXDR(c.enc)
	}
	if err != nil {
		return err
	}
	c.call.Message = rdmaio.Message{Inline: c.enc.Bytes(), Items: c.enc.Items()}
	c.call.Results = c.call.Results[:0]
	if place != nil {
		c.call.Results = append(c.call.Results, place)
	}
	reply, err := c.conn.Call(ctx, &c.call)
	if err != nil {
		return err
	}
	c.dec.Reset(reply.Message)
	if err := c.head.DecodeXDR(c.dec); err != nil {
		return err
	}
	if err := oncrpc.CheckReply(&c.head, xid); err != nil || results == nil {
		return err
	}
	if len(reply.Items) > 0 {
		c.dec.ReinsertInOrder([]xdr.Site{perf.SiteReadResData}, reply.Items)
	}
	return errors.Join(results.DecodeXDR(c.dec), c.dec.Done())
}

// explain says at which stage a Call or connection failed, and what to try.
func explain(stage, addr string, err error) *failure {
	f := &failure{code: exitFailed, stage: stage + " to " + addr, err: err}
	var (
		rejected *verbs.RejectedError
		peer     *rdmaio.PeerError
		reply    *oncrpc.ReplyError
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
	case errors.Is(err, verbs.ErrPeerDisconnected) && stage == "connection":
		f.help = "whether a server of this provider's protocol listens there: something else took the connection and closed it"
	}
	return f
}
