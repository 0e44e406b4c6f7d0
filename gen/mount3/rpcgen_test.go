package mount3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgen compares the vectors with the code of another compiler.
func TestRpcgen(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"DirPath": "dirpath", "MountRes": "mountres3", "Mounts": "mountlist", "Exports": "exports",
	}, "../../spec/x/mount3/mount3.x")
}
