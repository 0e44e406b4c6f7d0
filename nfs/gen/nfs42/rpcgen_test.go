package nfs42

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgen compares the vectors with the code of another compiler.
func TestRpcgen(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"CompoundArgs": "COMPOUND4args", "CompoundRes": "COMPOUND4res",
		"CBCompoundArgs": "CB_COMPOUND4args", "CBCompoundRes": "CB_COMPOUND4res",
	}, "../../../spec/x/nfs42/nfs42.x")
}
