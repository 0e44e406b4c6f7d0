package gss_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	memcarrier "github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// homes is a store with a file for each user. It is a storerpc.Server.
type homes struct{ files map[string][]byte }

// Write replaces the file of the user that calls.
func (h *homes) Write(r *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error {
	h.files[gss.FromContext(r.Context()).Principal] = append([]byte(nil), args.Data...)
	res.Count = uint32(len(args.Data))
	return nil
}

// Read returns the file of the user that calls.
func (h *homes) Read(r *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
	res.OK = store.ReadOK{Data: h.files[gss.FromContext(r.Context()).Principal], EOF: true}
	return nil
}

// A service knows its users and takes encrypted calls only. The mechanism is for tests; a real one
// has the same two interfaces. Errors end the program, to keep the example short.
func Example() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	realm := gsstest.NewRealm(2) // a key that both sides have

	services := rpc.NewHandler(nil, storerpc.NewService(&homes{files: map[string][]byte{}}))
	handler := gss.NewHandler(replycache.New(services, nil), realm.Acceptor(), &gss.HandlerConfig{Required: gss.Privacy})
	conn := memcarrier.New(handler, nil) // or a client of package tcp or rdmaio
	defer conn.Close()

	for _, user := range []string{"alice", "bob"} {
		secure, err := gss.NewCarrier(conn, realm.Initiator(user, "store@server"), &gss.CarrierConfig{Service: gss.Privacy})
		must(err)
		files := storerpc.NewClient(secure, nil)
		_, err = files.Write(ctx, &store.WriteArgs{Name: store.Name("notes"), Data: []byte("of " + user)})
		must(err)
		res, err := files.Read(ctx, &store.ReadArgs{Name: store.Name("notes"), Count: 100})
		must(err)
		fmt.Printf("%s\n", res.OK.Data)
		must(secure.Close(ctx))
	}

	_, err := storerpc.NewClient(conn, nil).Read(ctx, &store.ReadArgs{Name: store.Name("notes")})
	fmt.Println(err)
	// Output:
	// of alice
	// of bob
	// rpc: STORE_V1 STORE_READ (536870980 v1 proc 2): oncrpc: credential refused: AUTH_TOOWEAK (RFC 5531 §9): the connection has no TLS, which the server may require (Config.TLS); with TLS, ClientConfig.Cred is AUTH_NONE: set it, or use package gss with the protection that the server requires
}
