package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// oneFile is a store with one file. It is a storerpc.Server.
type oneFile struct{ data []byte }

// Write replaces the file.
func (f *oneFile) Write(_ *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error {
	f.data = bytes.Clone(args.Data) // args is valid until Write returns
	res.Count = uint32(len(f.data))
	return nil
}

// Read returns the file.
func (f *oneFile) Read(_ *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
	res.OK = store.ReadOK{Data: f.data, EOF: true}
	return nil
}

// A program of a .x file is served and called over TCP by its generated package storerpc. A file is
// written and read, and its data moves by RDMA from one slice to the other. Errors end the program,
// to keep the example short.
func Example() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	dev, err := rdmatcp.Open(nil) // a device for both sides, with all defaults
	must(err)
	defer dev.Close()

	handler := rpc.NewHandler(nil, storerpc.NewService(&oneFile{}))
	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", handler, nil)
	must(err)
	defer server.Close()

	conn, err := rdmaio.NewClient(dev, server.Addr(), nil) // connects at the first call
	must(err)
	defer conn.Close()
	files := storerpc.NewClient(conn, nil)

	written, err := files.Write(ctx, &store.WriteArgs{Name: store.Name("a"), Data: make([]byte, 100_000)})
	must(err)
	fmt.Println("written:", written.Count)

	var read store.ReadRes
	buf := make([]byte, 1<<20)
	must(files.ReadInto(ctx, &store.ReadArgs{Name: store.Name("a"), Count: 1 << 20}, &read, &rpc.Options{Results: [][]byte{buf}}))
	fmt.Println("read:", len(read.OK.Data), "into our own memory:", &read.OK.Data[0] == &buf[0])
	// Output:
	// written: 100000
	// read: 100000 into our own memory: true
}

// The client sends a credential, and the server decides by it. The caller can distinguish a refusal
// from a failure of the transport.
func ExampleRequest_AuthSys() {
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	program := oncrpc.Program{Number: store.Program, Version: store.Version1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, store.ProcRead, func(r *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
		who, err := r.AuthSys()
		if err != nil {
			return err // the caller gets AUTH_BADCRED or AUTH_TOOWEAK
		}
		if who.UID != 1000 {
			return oncrpc.Refused(oncrpc.AuthStatTooWeak)
		}
		res.OK.Data = who.MachineName
		return nil
	})
	server, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", rpc.NewHandler(nil, svc), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := rdmaio.Dial(context.Background(), dev, server.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	for _, uid := range []uint32{1000, 0} {
		cred, err := (&oncrpc.AuthSysParms{MachineName: []byte("garden"), UID: uid}).Auth()
		if err != nil {
			log.Fatal(err)
		}
		var res store.ReadRes
		err = rpc.NewClient(conn, program, &rpc.ClientConfig{Cred: cred}).Call(context.Background(), store.ProcRead, new(store.ReadArgs), &res, nil)
		var e *rpc.Error
		switch {
		case errors.Is(err, oncrpc.ErrAuth):
			text, _, _ := strings.Cut(err.Error(), ": the connection has no TLS") // and what to do
			fmt.Println("refused:", text)
		case errors.As(err, &e):
			fmt.Println("failed; it may have run:", e.MayHaveRun)
		default:
			fmt.Printf("user %d of %s\n", uid, res.OK.Data)
		}
	}
	// Output:
	// user 1000 of garden
	// refused: rpc: program 536870980 (0x20000044) version 1 procedure 2: oncrpc: credential refused: AUTH_TOOWEAK (RFC 5531 §9)
}
