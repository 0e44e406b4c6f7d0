package rpcrdma2

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgenAgreesWithTheVectors proves R320: another compiler's code agrees with the vectors.
func TestRpcgenAgreesWithTheVectors(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"HeaderPrefix": "rpcrdma2_hdr_prefix", "Common": "rpcrdma_common", "Msg": "rpcrdma2_msg", "Nomsg": "rpcrdma2_nomsg",
		"ChunkLists": "rpcrdma2_chunk_lists", "Segment": "rpcrdma2_segment", "ReadSegment": "rpcrdma2_read_segment",
		"WriteChunk": "rpcrdma2_write_chunk", "Error": "rpcrdma2_error", "ConnProp": "rpcrdma2_connprop",
		"PropVal": "rpcrdma2_propval", "PropSet": "rpcrdma2_propset", "PropSubset": "rpcrdma2_propsubset",
		"PropMaxSendSize": "rpcrdma2_prop_sbsiz", "PropReceiveBufferSize": "rpcrdma2_prop_rbsiz", "PropMaxSegmentSize": "rpcrdma2_prop_rssiz",
		"PropMaxSegmentCount": "rpcrdma2_prop_rcsiz", "PropReverseSupport": "rpcrdma2_prop_brs", "PropHostAuth": "rpcrdma2_prop_hostauth",
	}, "../../spec/x/rpcrdma2/common.x", "../../spec/x/rpcrdma2/baseops.x")
}
