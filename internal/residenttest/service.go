package residenttest

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Program is the program that the server serves.
var Program = oncrpc.Program{Number: 400001, Version: 3}

// The procedures of the server.
const (
	Double = 1  // returns twice the argument
	Blob   = 10 // returns as many bytes as the argument says
	Names  = 11 // takes a list of names
	Fresh  = 12 // Blob without package rpc
)

// handler serves the procedures.
func handler() oncrpc.Handler {
	svc := rpc.NewService(Program)
	rpc.Handle(svc, Double, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	rpc.Handle(svc, Blob, func(_ *rpc.Request, args *oncrpc.Uint32, res *gss.PrivData) error {
		res.Body = touched(int(*args))
		return nil
	})
	rpc.Handle(svc, Names, func(_ *rpc.Request, args *mount3.Groups, res *oncrpc.Uint32) error {
		*res = oncrpc.Uint32(len(*args))
		return nil
	})
	return fresh{rpc.NewHandler(nil, svc)}
}

// touched returns n bytes whose pages are all in memory.
func touched(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}

// fresh serves Fresh, and all others by a rpc.Handler.
type fresh struct{ *rpc.Handler }

func (f fresh) ServeRPC(r *oncrpc.Request) {
	if _, _, proc, ok := oncrpc.Procedure(r.Message); !ok || proc != Fresh || len(r.Message) < 44 {
		f.Handler.ServeRPC(r)
		return
	}
	head, err := oncrpc.NewReply(binary.BigEndian.Uint32(r.Message), oncrpc.Success).AppendBinary(nil)
	if err != nil {
		r.Drop(nil)
		return
	}
	r.Reply(oncrpc.Message{Inline: append(head, touched(int(binary.BigEndian.Uint32(r.Message[40:])))...)}, nil)
}

// Call returns the message of a Call with one argument.
func Call(xid, proc, arg uint32) []byte {
	b := make([]byte, 0, 44)
	for _, w := range []uint32{xid, 0, 2, Program.Number, Program.Version, proc, 0, 0, 0, 0, arg} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// Honest calls Double on a Carrier, and checks the reply.
func Honest(t testing.TB, c oncrpc.Carrier) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
	if err := rpc.NewClient(c, Program, nil).Call(ctx, Double, &args, &res, nil); err != nil || res != 42 {
		t.Errorf("twice 21 is %d, %v", res, err)
	}
}
