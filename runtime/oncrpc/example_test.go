package oncrpc_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A Call is built and a reply is read by hand. Package rpc does both for programs that have types
// of xdrgen.
func Example() {
	call, err := oncrpc.NewCall(7, 100003, 3, 0, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(oncrpc.DescribeCall(call))

	reply, err := oncrpc.NewReply(7, oncrpc.ProcUnavail).AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}
	var m oncrpc.Header
	if err := m.DecodeXDR(xdr.NewDecoder(reply, nil)); err != nil {
		log.Fatal(err)
	}
	err = oncrpc.CheckReply(&m, 7)
	fmt.Println(errors.Is(err, oncrpc.ErrProcUnavail))
	// Output:
	// program 100003 (0x186a3) version 3 procedure 0
	// true
}

// The address of a service as rpcbind has it.
func ExampleUniversalAddr() {
	at, err := oncrpc.ParseUniversalAddr(oncrpc.NetIDTCP, "192.0.2.7.8.1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(at, oncrpc.UniversalAddr(at))
	// Output: 192.0.2.7:2049 192.0.2.7.8.1
}
