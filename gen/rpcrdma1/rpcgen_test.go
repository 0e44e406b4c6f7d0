package rpcrdma1

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgenAgreesWithTheVectors proves R320: another compiler's code agrees with the vectors.
func TestRpcgenAgreesWithTheVectors(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"Message": "rdma_msg", "Segment": "xdr_rdma_segment", "ReadChunk": "xdr_read_chunk",
		"WriteChunk": "xdr_write_chunk", "Error": "rpc_rdma_error",
	}, "../../spec/x/rpcrdma1/rpcrdma1.x")
}
