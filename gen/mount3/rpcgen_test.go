package mount3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgenAgreesWithTheVectors compares the vectors with the code of another compiler.
func TestRpcgenAgreesWithTheVectors(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"DirPath": "dirpath", "MountRes": "mountres3", "Mounts": "mountlist", "Exports": "exports",
	}, "../../spec/x/mount3/mount3.x")
}
