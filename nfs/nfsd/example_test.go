package nfsd_test

import (
	"context"
	"log"
	"os"
	"path/filepath"

	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A directory is served over TCP and over RDMA at once.
func Example() {
	base, err := os.MkdirTemp("", "nfsd")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		log.Fatal(err)
	}

	server, err := nfsd.New(nfsd.Config{Dir: dir, State: filepath.Join(base, "state"), ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	handler := server.Handler() // NFS, MOUNT and NLM, with a reply cache for all

	byTCP, err := tcp.Listen(context.Background(), "127.0.0.1:0", handler, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer byTCP.Close()

	device, err := rdmatcp.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	byRDMA, err := rdmaio.Listen(context.Background(), device, "127.0.0.1:0", handler, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer byRDMA.Close()
	// Output:
}
