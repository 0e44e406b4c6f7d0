package xdrjson_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrjson"
)

// Structs and unions can be converted without generated methods.
func Example() {
	args := nfs3.ReadArgs{File: nfs3.Handle{Data: []byte{1, 2, 3}}, Offset: 1 << 60, Count: 4096}
	text, err := xdrjson.Marshal(&args, "")
	fmt.Println(string(text), err)

	err = xdrjson.Unmarshal([]byte(`{"file": {"data": "010203"}, "offset": "-1", "count": 1}`), &args, "")
	fmt.Println(err)
	// Output:
	// {"file":{"data":"010203"},"offset":"1152921504606846976","count":4096} <nil>
	// xdrjson: nfs3.ReadArgs: offset: line 1, column 40: found string "-1", expected an integer in range for unsigned hyper (xdrgen help json)
}
