package gss_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// BenchmarkCall makes small calls, with the cryptography of gsstest.
func BenchmarkCall(b *testing.B) {
	run := func(name string, c oncrpc.Carrier) {
		b.Run(name, func(b *testing.B) {
			client := rpc.NewClient(c, plainProgram, nil)
			b.ReportAllocs()
			for range b.N {
				var args, res oncrpc.Uint32
				if err := client.Call(context.Background(), 2, &args, &res, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	plain := rpc.NewHandler(nil, serviceOf(nil))
	run("without", overTCP(b, plain, nil))
	for _, service := range services {
		realm := gsstest.NewRealm(2)
		conn := overTCP(b, gss.NewHandler(plain, realm.Acceptor(), nil), nil)
		run(service.String(), secure(b, conn, realm.Initiator("alice", "s"), service))
	}
	// The part of the framing: a mechanism that does nothing.
	conn := overTCP(b, gss.NewHandler(plain, &letters{own: "S", peer: "C"}, nil), nil)
	run("integrity without cryptography", secure(b, conn, &letters{own: "C", peer: "S"}, gss.Integrity))
}
