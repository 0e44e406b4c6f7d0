package fsx_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/rpcrdma/rpcrdma/nfs/fsx"
)

// A directory, which may be a mount, is tested by 500 random operations.
func Example() {
	dir, err := os.MkdirTemp("", "fsx")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fmt.Println(fsx.Run(context.Background(), fsx.OS(dir), fsx.Config{Seed: 7, Steps: 500}))
	// Output: <nil>
}
