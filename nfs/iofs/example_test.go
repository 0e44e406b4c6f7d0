package iofs_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/iofs"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// An fs.FS, such as a zip file or embedded files, is served by NFS.
func Example() {
	ctx := context.Background()
	served, err := iofs.New(fstest.MapFS{"docs/hello.txt": {Data: []byte("good morning"), Mode: 0o444}}, iofs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	server, err := nfsd.New(nfsd.Config{FS: served})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	listener, err := tcp.Listen(ctx, "127.0.0.1:0", server.Handler(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()

	port := int(netip.MustParseAddrPort(listener.Addr()).Port())
	c, name, err := client.Dial(ctx, "127.0.0.1:/export", &client.Config{Transport: "tcp", Port: port, MountPort: port})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for info, err := range c.ReadDir(ctx, name+"/docs") {
		fmt.Println(info.Name(), info.Size(), err)
	}
	// Output: hello.txt 12 <nil>
}
