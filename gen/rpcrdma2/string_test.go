package rpcrdma2

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func TestValuesPrintThemselves(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{
			HeaderPrefix{Common{1, 2, 3, HeaderError}, FlagResponse},
			"rpcrdma2_hdr_prefix{rdma_start: {rdma_xid: 1, rdma_vers: 2, rdma_credit: 3, rdma_htype: 4}, rdma_flags: 1}",
		},
		{
			&Error{Err: ErrWriteResource, WriteResource: WriteShortage{1, 8192}, MaxSegments: 7},
			"rpcrdma2_error{rdma_err: 8, rdma_writeres: {rdma_chunk_index: 1, rdma_length_needed: 8192}}",
		},
		{Error{Err: 999, MaxSegments: 7}, "rpcrdma2_error{rdma_err: 999}"},
		{
			ConnProp{PropSet{{PropIDReceiveBufferSize, []byte{0, 0, 0x10, 0}}}},
			"rpcrdma2_connprop{rdma_props: [{rdma_which: 2, rdma_data: 4 bytes 00001000}]}",
		},
		{PropSet{}, "[]"},
		{
			Msg{ChunkLists{Reads: []ReadSegment{{}}, Reply: xdr.Some(WriteChunk{})}},
			"rpcrdma2_msg{rdma_chunks: {rdma_inv_handle: 0, " +
				"rdma_reads: [{rdma_position: 0, rdma_target: {rdma_handle: 0, rdma_length: 0, rdma_offset: 0}}], " +
				"rdma_writes: [], rdma_reply: {rdma_target: []}}}",
		},
	} {
		if got := fmt.Sprint(c.v); got != c.want {
			t.Errorf("%T:\ngot  %s\nwant %s", c.v, got, c.want)
		}
	}
}
