package nfs4_test

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// A COMPOUND that finds a directory, and reads its size.
func Example() {
	size := func(ctx context.Context) error {
		s, err := nfs4.DialTCP(ctx, "storage.example.net:2049", nil, nil)
		if err != nil {
			return err
		}
		defer s.Close()

		var c nfs4.Compound
		c.PutRootFH()
		c.Lookup("data")
		fh := c.GetFH()
		attrs := c.GetAttr(nfs42.Bitmap{1 << nfs42.AttrSize})
		if err := s.Do(ctx, &c); err != nil {
			return err
		}
		fmt.Printf("%x %x\n", fh.OK.Object, attrs.OK.ObjAttributes.AttrVals)
		return nil
	}
	_ = size // it needs a server
}
