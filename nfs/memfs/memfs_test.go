package memfs_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/memfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/nfs/vfs/vfstest"
)

func TestFileSystemInMemory(t *testing.T) {
	vfstest.Test(t, vfstest.Config{New: func(*testing.T) vfs.FS { return memfs.New(memfs.Config{}) }})
}
