package rdmaconfig

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgenAgreesWithTheVectors proves R320: another compiler's code agrees with the vectors.
func TestRpcgenAgreesWithTheVectors(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"Req": "config_rdma_req", "Reply": "config_rdma_reply",
	}, "../../spec/x/rdmaconfig/rdmaconfig.x")
}
