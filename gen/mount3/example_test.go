package mount3_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
)

// The argument of MNT, and a server's refusal.
func Example() {
	path := mount3.DirPath("/export")
	wire, err := path.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d, %d: % x\n", mount3.Program, mount3.ProcMount, wire)

	var res mount3.MountRes
	err = res.UnmarshalBinary([]byte{0, 0, 0, 13})
	fmt.Println(res.Status, err)
	// Output:
	// 100005, 1: 00 00 00 07 2f 65 78 70 6f 72 74 00
	// MNT3ERR_ACCES <nil>
}
