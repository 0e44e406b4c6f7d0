package rpcrdma2draft07

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRpcgen proves R320: another compiler's code agrees with the vectors.
func TestRpcgen(t *testing.T) {
	xdrtest.Rpcgen(t, xdrtest.Load(t), map[string]string{
		"HeaderPrefix": "rpcrdma2_hdr_prefix", "Common": "rpcrdma_common", "CallExternal": "rpcrdma2_hdr_call_external",
		"CallMiddle": "rpcrdma2_hdr_call_middle", "CallInline": "rpcrdma2_hdr_call_inline",
		"ReplyExternal": "rpcrdma2_hdr_reply_external", "ReplyMiddle": "rpcrdma2_hdr_reply_middle",
		"ReplyInline": "rpcrdma2_hdr_reply_inline", "Segment": "rpcrdma2_segment", "ReadSegment": "rpcrdma2_read_segment",
		"WriteChunk": "rpcrdma2_write_chunk", "Error": "rpcrdma2_hdr_error", "ConnProp": "rpcrdma2_hdr_connprop",
		"PropVal": "rpcrdma2_propval", "PropSet": "rpcrdma2_propset", "PropSubset": "rpcrdma2_propsubset",
		"PropMaxSendSize": "rpcrdma2_prop_sbsiz", "PropReceiveBufferSize": "rpcrdma2_prop_rbsiz", "PropMaxSegmentSize": "rpcrdma2_prop_rssiz",
		"PropMaxSegmentCount": "rpcrdma2_prop_rcsiz", "PropReverseSupport": "rpcrdma2_prop_brs", "PropHostAuth": "rpcrdma2_prop_hostauth",
	}, "../../spec/x/rpcrdma2draft07/common.x", "../../spec/x/rpcrdma2draft07/baseops.x")
}
