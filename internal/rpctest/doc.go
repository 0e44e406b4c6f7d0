// Package rpctest is an upper layer for tests of package rdmaio: RPC messages, Calls, and handlers.
//
// Most tests use READ and WRITE of NFS version 3 (RFC 1813 §3.3.6, §3.3.7) with one file in memory,
// which a [File] serves. The messages are encoded by hand in the way of generated code, and the
// data of both procedures is eligible for reduction (RFC 8267 §2). Other handlers echo a Call
// ([Echo]), answer at once ([Quick]), later ([Later]) or when the test says so ([Silent]), or keep
// the Calls ([App]).
//
//	w := rdmaiotest.New(t)
//	w.Serve(&rpctest.File{T: t, Data: data}, nil)
//	reply, err := w.Dial(nil).Call(ctx, rpctest.ReadCall(1, 0, buf))
package rpctest
