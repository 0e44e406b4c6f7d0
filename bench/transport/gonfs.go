package transport

import (
	"errors"
	"io"
	"syscall"

	"github.com/willscott/go-nfs-client/nfs/rpc"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
)

// gonfsCall is a call as github.com/willscott/go-nfs-client encodes it, by reflection.
type gonfsCall struct {
	rpc.Header
	Data [argumentBytes]byte
}

// dialGoNFS returns a function that makes a call through the RPC of go-nfs-client. That has no
// server: the server is ours.
func dialGoNFS(addr string, s bench.Shape) (func(int) error, io.Closer, error) {
	c, err := rpc.DialTCP("tcp", addr, false)
	for range 20 { // it binds to a random port, which may be in use
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		c, err = rpc.DialTCP("tcp", addr, false)
	}
	if err != nil {
		return nil, nil, err
	}
	call := gonfsCall{Header: rpc.Header{Rpcvers: 2, Prog: program, Vers: 1, Proc: procEcho, Cred: rpc.AuthNull, Verf: rpc.AuthNull}}
	copy(call.Data[:], bench.Pattern(s.Size))
	return func(int) error {
		r, err := c.Call(&call)
		if err != nil {
			return err
		}
		var got [argumentBytes]byte
		if _, err := io.ReadFull(r, got[:]); err != nil {
			return err
		}
		if got != call.Data {
			return errDiffers
		}
		return nil
	}, gonfsCloser{c}, nil
}

// gonfsCloser closes a client of go-nfs-client.
type gonfsCloser struct{ *rpc.Client }

// Close implements io.Closer.
func (c gonfsCloser) Close() error {
	c.Client.Close()
	return nil
}
