package xchar_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/xchar"
)

// The first operation of an endpoint, and the value that its peer decodes.
func Example() {
	init := xchar.Init{
		Start:    xchar.Spec{{Which: xchar.IDRemoteInvalidation, Data: []byte{0, 0, 0, 1}}},
		NoChange: xchar.Subset{1 << 0}, // element 0 stays as it is
	}
	wire, err := init.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("% x\n", wire)

	var got xchar.Init
	if err := got.UnmarshalBinary(wire); err != nil {
		fmt.Println(err)
		return
	}
	var remoteInvalidation xchar.RemoteInvalidation
	err = remoteInvalidation.UnmarshalBinary(got.Start[0].Data)
	fmt.Println(remoteInvalidation, err)
	// Output:
	// 00 00 00 01 00 00 00 02 00 00 00 04 00 00 00 01 00 00 00 01 00 00 00 01
	// true <nil>
}
