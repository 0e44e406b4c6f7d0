package nfs3_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// The arguments of a READ, and a result with its data.
func Example() {
	args := nfs3.ReadArgs{File: nfs3.Handle{Data: []byte("fh-9")}, Offset: 4096, Count: 512}
	wire, err := args.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d, %d: % x\n", nfs3.Program, nfs3.ProcRead, wire)

	var res nfs3.ReadRes
	err = res.UnmarshalBinary([]byte{
		0, 0, 0, 0, // NFS3_OK
		0, 0, 0, 0, // no attributes
		0, 0, 0, 2, 0, 0, 0, 1, // two bytes, and the end of the file
		0, 0, 0, 2, 'h', 'i', 0, 0,
	})
	fmt.Println(res.Status, res.OK.EOF, string(res.OK.Data), err)
	// Output:
	// 100003, 6: 00 00 00 04 66 68 2d 39 00 00 00 00 00 00 10 00 00 00 02 00
	// NFS3_OK true hi <nil>
}

// The items that RPC-over-RDMA may move apart from the message (RFC 8267 §4).
func ExampleDDPBindings() {
	for _, b := range nfs3.DDPBindings() {
		fmt.Println(b.Procedure, b.Reply, b.Path)
	}
	// Output:
	// 7 false data
	// 10 false symlink.symlink_data
	// 6 true resok.data
	// 5 true resok.data
}
