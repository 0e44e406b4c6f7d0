package nfs42_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
)

// A COMPOUND that reads the size of the root directory, and its result. The number of each
// operation selects its arguments and results.
func Example() {
	args := nfs42.CompoundArgs{MinorVersion: 0, ArgArray: []nfs42.ArgOp{
		{Op: nfs42.OpPutRootFH},
		{Op: nfs42.OpGetAttr, GetAttr: nfs42.GetAttrArgs{AttrRequest: nfs42.Bitmap{1 << nfs42.AttrSize}}},
	}}
	wire, err := args.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d, %d: % x\n", nfs42.Program, nfs42.ProcCompound, wire)

	var res nfs42.CompoundRes
	err = res.UnmarshalBinary([]byte{
		0, 0, 0, 0, 0, 0, 0, 0, // NFS4_OK, no tag
		0, 0, 0, 2, // two results
		0, 0, 0, 24, 0, 0, 0, 0, // PUTROOTFH: NFS4_OK
		0, 0, 0, 9, 0, 0, 0, 0, // GETATTR: NFS4_OK
		0, 0, 0, 1, 0, 0, 0, 16, // the attributes that follow: the size
		0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 16, 0,
	})
	for _, op := range res.ResArray {
		fmt.Println(op.String())
	}
	attrs := res.ResArray[1].GetAttr.OK.ObjAttributes
	var size nfs42.FattrSize
	if err == nil {
		err = size.UnmarshalBinary(attrs.AttrVals)
	}
	fmt.Println(size, err)
	// Output:
	// 100003, 1: 00 00 00 00 00 00 00 00 00 00 00 02 00 00 00 18 00 00 00 09 00 00 00 01 00 00 00 10
	// nfs_resop4{resop: OP_PUTROOTFH, opputrootfh: {status: NFS4_OK}}
	// nfs_resop4{resop: OP_GETATTR, opgetattr: {status: NFS4_OK, resok4: {obj_attributes: {attrmask: [16], attr_vals: 8 bytes 0000000000001000}}}}
	// 4096 <nil>
}

// The items that RPC-over-RDMA may move apart from the message (RFC 8267 §6.1).
func ExampleDDPBindings() {
	for _, b := range nfs42.DDPBindings() {
		fmt.Println(b.Procedure, b.Reply, b.Path)
	}
	// Output:
	// 1 false argarray.opwrite.data
	// 1 false argarray.opcreate.objtype.linkdata
	// 1 true resarray.opread.resok4.data
	// 1 true resarray.opreadlink.resok4.link
}
