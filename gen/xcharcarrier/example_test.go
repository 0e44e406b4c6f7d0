package xcharcarrier_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

// A request of a larger receive size, as it follows the prefix of version 2.
func Example() {
	req := xchar.Req{Want: xchar.Spec{{Which: xchar.IDReceiveBufferSize, Data: []byte{0, 0, 0x20, 0}}}}
	info, err := req.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	header := xcharcarrier.Optional{Direction: xcharcarrier.XIDOfSender, Op: xchar.OpReq, Info: info}
	wire, err := header.MarshalBinary()
	fmt.Printf("% x\n%v\n", wire, err)
	// Output:
	// 00 00 00 00 00 00 00 02 00 00 00 10 00 00 00 01 00 00 00 01 00 00 00 04 00 00 20 00
	// <nil>
}
