package rpcrdma2_test

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A first message that advertises a receive size: prefix and body are encoded in turn, and decoded
// by the header type.
func Example() {
	e := xdr.NewEncoder(nil)
	prefix := rpcrdma2.HeaderPrefix{Start: rpcrdma2.Common{XID: 7, Vers: 2, Credit: 8<<16 | 1, Htype: rpcrdma2.HeaderConnProp}}
	props := rpcrdma2.ConnProp{Props: rpcrdma2.PropSet{{Which: rpcrdma2.PropIDReceiveBufferSize, Data: []byte{0, 0, 0x20, 0}}}}
	if err := errors.Join(prefix.EncodeXDR(e), props.EncodeXDR(e)); err != nil {
		fmt.Println(err)
		return
	}

	d := xdr.NewDecoder(e.Bytes(), &xdr.DecoderOptions{Alias: true})
	if err := prefix.DecodeXDR(d); err != nil {
		fmt.Println(err)
		return
	}
	ext := rpcrdma2.Extension()
	body := ext.Find(xdr.HeaderTypes, prefix.Start.Htype).New()
	if err := body.DecodeXDR(d); err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range body.(*rpcrdma2.ConnProp).Props {
		var size rpcrdma2.PropReceiveBufferSize
		err := size.UnmarshalBinary(p.Data)
		fmt.Println(p.Which, size, err, len(d.Rest()))
	}
	// Output: 2 8192 <nil> 0
}
