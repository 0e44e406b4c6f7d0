package memfs_test

import (
	"log"

	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// A server of files in memory, for tests of programs that use NFS. Its Handler is passed to the
// Listen of a carrier.
func Example() {
	server, err := nfsd.New(nfsd.Config{FS: memfs.New(memfs.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	_ = server.Handler()
	// Output:
}
