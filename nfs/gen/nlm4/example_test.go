package nlm4_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
)

// The answer of a server without locks: a client's fcntl(2) fails with ENOLCK.
func Example() {
	res := nlm4.Res{Cookie: nlm4.Object{1, 2, 3, 4}, Stat: nlm4.Stat{Stat: nlm4.StatusDeniedNoLocks}}
	wire, err := res.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d, %d: % x\n", nlm4.Program, nlm4.ProcLock, wire)

	var back nlm4.Res
	err = back.UnmarshalBinary(wire)
	fmt.Println(back.Stat.Stat, err)
	// Output:
	// 100021, 2: 00 00 00 04 01 02 03 04 00 00 00 02
	// NLM4_DENIED_NOLOCKS <nil>
}
