package rpcrdma2draft07_test

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2draft07"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The first part of a Call in two parts: the header has the count of bytes to come, and the payload
// is the rest of the message.
func Example() {
	e := xdr.NewEncoder(nil)
	prefix := rpcrdma2draft07.HeaderPrefix{Start: rpcrdma2draft07.Common{XID: 7, Vers: 2, Credit: 16, Htype: rpcrdma2draft07.HeaderCallMiddle}}
	part := rpcrdma2draft07.CallMiddle{Remaining: 100}
	if err := errors.Join(prefix.EncodeXDR(e), part.EncodeXDR(e)); err != nil {
		fmt.Println(err)
		return
	}
	message := append(e.Bytes(), "payload"...)

	d := xdr.NewDecoder(message, &xdr.DecoderOptions{Alias: true})
	if err := prefix.DecodeXDR(d); err != nil {
		fmt.Println(err)
		return
	}
	ext := rpcrdma2draft07.Extension()
	code := ext.Find(xdr.HeaderTypes, prefix.Start.Htype)
	body := code.New()
	if err := body.DecodeXDR(d); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(code.Name, body.(*rpcrdma2draft07.CallMiddle).Remaining, len(d.Rest()))
	// Output: RDMA2_CALL_MIDDLE 100 7
}
