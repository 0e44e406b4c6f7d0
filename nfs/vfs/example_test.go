package vfs_test

import (
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// The calls that a server makes for LOOKUP: it finds the directory by the ID in a handle, and a
// file in it by its name.
func Example() {
	var files vfs.FS = memfs.New(memfs.Config{})
	root, _, err := files.Root()
	if err != nil {
		log.Fatal(err)
	}
	id, err := root.ID()
	if err != nil {
		log.Fatal(err)
	}

	dir, attr, err := files.Resolve(id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(attr.Mode.IsDir())
	_, _, err = dir.Lookup("hello")
	fmt.Println(err)
	// Output:
	// true
	// file does not exist
}
