package client4_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/nfs/client4"
)

// A file is written, and a directory is walked. The server can be Linux's or nfs-ganesha; with
// Config.Provider the calls go over RDMA.
func Example() {
	use := func(ctx context.Context) error {
		c, dir, err := client4.Dial(ctx, "storage.example.net:/export", nil)
		if err != nil {
			return err
		}
		defer c.Close()
		f, err := c.OpenFile(ctx, dir+"/hello", os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt([]byte("good morning\n"), 0); err != nil {
			return err
		}
		if err := f.Close(); err != nil { // the data are on the server's disk
			return err
		}
		return fs.WalkDir(c.FS(ctx, dir), ".", func(name string, e fs.DirEntry, err error) error {
			fmt.Println(name)
			return err
		})
	}
	_ = use // it needs a server
}
