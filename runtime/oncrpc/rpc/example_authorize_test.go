package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// An interceptor decides by program and argument which calls are allowed. Files below "public/" may
// be read by all, and nothing else is allowed: also no procedure that the service gets later.
func ExampleServerInterceptor() {
	refused := oncrpc.Refused(oncrpc.AuthStatRejectedCred)
	authorize := func(r *rpc.Request, args, _ xdr.Value, next func() error) error {
		if number, _ := r.Program(); number != store.Program {
			return refused
		}
		if r.Procedure() == 0 { // which does nothing
			return next()
		}
		switch args := args.(type) {
		case *store.ReadArgs:
			if !strings.HasPrefix(args.Name.String(), "public/") {
				return refused
			}
		default:
			return refused
		}
		return next()
	}
	cfg := &rpc.HandlerConfig{Interceptors: []rpc.ServerInterceptor{authorize}}
	conn := mem.New(rpc.NewHandler(cfg, storerpc.NewService(&oneFile{data: []byte("hello")})), nil)
	defer conn.Close()
	files := storerpc.NewClient(conn, nil)

	ctx := context.Background()
	for _, name := range []string{"public/a", "private/a"} {
		_, err := files.Read(ctx, &store.ReadArgs{Name: store.Name(name), Count: 100})
		fmt.Println("read", name, "- refused:", errors.Is(err, oncrpc.ErrAuth))
	}
	_, err := files.Write(ctx, &store.WriteArgs{Name: store.Name("public/a")})
	fmt.Println("write public/a - refused:", errors.Is(err, oncrpc.ErrAuth))
	// Output:
	// read public/a - refused: false
	// read private/a - refused: true
	// write public/a - refused: true
}
