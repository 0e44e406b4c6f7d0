package xchar

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgenAgreesWithTheVectors proves R320: another compiler's code agrees with the vectors.
func TestRpcgenAgreesWithTheVectors(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"Init": "optinfo_initxch", "Req": "optinfo_reqxch", "Resp": "optinfo_respxch", "Upd": "optinfo_updxch",
		"Value": "xcharval", "Spec": "xcharspec", "Subset": "xcharsubset",
		"ReceiveBufferSize": "xchrbsiz", "RemoteInvalidation": "xchrrqrem", "BackwardSupport": "xchrbrs",
	}, "../../spec/x/xchar/xchar.x")
}
