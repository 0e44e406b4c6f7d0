package nlm4

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestVectorsAgreeWithRpcgen compares the vectors with the code of another compiler.
func TestVectorsAgreeWithRpcgen(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"TestArgs": "nlm4_testargs", "TestRes": "nlm4_testres", "LockArgs": "nlm4_lockargs", "CancelArgs": "nlm4_cancargs",
		"UnlockArgs": "nlm4_unlockargs", "Res": "nlm4_res", "ShareArgs": "nlm4_shareargs", "ShareRes": "nlm4_shareres", "Notify": "nlm4_notify",
	}, "testdata/libtirpc.x", "../../../spec/x/nlm4/xnfs.x", "../../../spec/x/nlm4/nlm4.x", "../../../spec/x/nlm4/calls.x")
}
