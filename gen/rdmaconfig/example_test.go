package rdmaconfig_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rdmaconfig"
)

// The requested parameters of a client, and the answer.
func Example() {
	req := rdmaconfig.Req{MaxCallSendSize: 4096, MaxReplySendSize: 4096, MaxRDMARead: 8}
	wire, err := req.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d, %d: % x\n", rdmaconfig.Program, rdmaconfig.ProcConfRDMA, wire)

	var reply rdmaconfig.Reply
	err = reply.UnmarshalBinary([]byte{0, 0, 8, 0, 0, 0, 0, 4, 0, 0, 0, 16})
	fmt.Println(reply.MaxCallSendSize, reply.Align, reply.MaxRDMARead, err)
	// Output:
	// 100400, 1: 00 00 10 00 00 00 10 00 00 00 00 08
	// 2048 4 16 <nil>
}
