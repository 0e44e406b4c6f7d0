package store_test

import (
	"encoding/json"
	"fmt"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
)

// Types that were generated with json work within encoding/json. The command xdrgen json has the
// same form.
func Example_json() {
	call := struct {
		From string         `json:"from"`
		Args store.ReadArgs `json:"args"`
	}{"192.0.2.1", store.ReadArgs{Name: store.Name("notes"), Offset: 1 << 60, Count: 512}}
	text, err := json.Marshal(call)
	fmt.Println(string(text), err)

	var res store.ReadRes
	fmt.Println(json.Unmarshal([]byte(`{"discriminant":"STORE_OK","arm":{"eof":true,"data":"6869"}}`), &res))
	fmt.Printf("%s %q\n", res.Status, res.OK.Data)

	fmt.Println(json.Unmarshal([]byte(`{
	"discriminant": "STORE_OK",
	"arm": {"eof": "yes", "data": "6869"}
}`), &res))
	// Output:
	// {"from":"192.0.2.1","args":{"name":"notes","offset":"1152921504606846976","count":512}} <nil>
	// <nil>
	// STORE_OK "hi"
	// xdrjson: store.ReadRes: ok.eof: line 3, column 17: found string "yes", expected true or false for bool (xdrgen help json)
}
