package rpcrdma1_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A Call with one read chunk: header and RPC message in one buffer, and back.
func Example() {
	call := rpcrdma1.Message{XID: 7, Vers: 1, Credit: 32, Body: rpcrdma1.Body{
		Proc: rpcrdma1.ProcMsg,
		Msg: rpcrdma1.Header{Reads: []rpcrdma1.ReadChunk{
			{Position: 104, Target: rpcrdma1.Segment{Handle: 0xa1, Length: 8192, Offset: 0x1000}},
		}},
	}}
	wire, err := call.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	wire = append(wire, "the RPC message"...)

	d := xdr.NewDecoder(wire, &xdr.DecoderOptions{Alias: true})
	var got rpcrdma1.Message
	if err := got.DecodeXDR(d); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Body.Proc, got.Body.Msg.Reads[0].Target.Length, string(d.Rest()))

	fmt.Println(got.UnmarshalBinary(wire[:30])) // a truncated header
	// Output:
	// RDMA_MSG 8192 the RPC message
	// xdr: rpcrdma1.Message.Body.Msg.Reads[0].Position: offset 20: 10 bytes left, 24 needed (RFC 4506 §3)
}
