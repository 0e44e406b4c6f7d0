package localfs_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rpcrdma/rpcrdma/nfs/localfs"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// A directory is served with one key for the handles of two servers, which share its state: a
// client may use either.
func Example() {
	base, err := os.MkdirTemp("", "localfs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	files, err := localfs.Open(localfs.Config{Dir: dir, State: filepath.Join(base, "state")})
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()
	server, err := nfsd.New(nfsd.Config{FS: files, Key: []byte("a secret of 16 bytes or more"), ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	_, attr, err := files.Root()
	fmt.Println(attr.Mode.IsDir(), err)
	// Output: true <nil>
}
