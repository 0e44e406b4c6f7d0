package rdmaiotest

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// DialRaw connects a client to a raw server. See World.DialRaw for a raw client.
func DialRaw(w *World, cfg *rdmaio.Config) (*peertest.Peer, *rdmaio.Conn) {
	w.T.Helper()
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr)
	if err != nil {
		w.T.Fatal(err)
	}
	defer ln.Close()
	w.Addr = ln.Addr()
	p := peertest.New(w.T.(*testing.T), w.Server)
	accepted := make(chan error, 1)
	go func() {
		req, err := ln.Accept(context.Background())
		if err == nil {
			_, err = req.Accept(context.Background(), p.QP, nil)
		}
		accepted <- err
	}()
	c := w.Dial(cfg)
	if err := <-accepted; err != nil {
		w.T.Fatal(err)
	}
	return p, c
}
