package client_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// A directory is listed and a file written and read, over RDMA, without a mount.
func Example() {
	ctx := context.Background()
	c, dir, err := client.Dial(ctx, "storage.example.net:/export", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	f, err := c.Create(ctx, dir+"/hello", 0o644)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("hello\n"), 0); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil { // COMMIT: the data are on the server's disk
		log.Fatal(err)
	}

	for entry, err := range c.ReadDir(ctx, dir) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Mode(), entry.Size(), entry.Name())
	}

	f, err = c.Open(ctx, dir+"/hello")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.CopyTo(os.Stdout, 0, 6); err != nil {
		log.Fatal(err)
	}
}
