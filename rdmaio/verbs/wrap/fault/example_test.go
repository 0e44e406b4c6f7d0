package fault_test

import (
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// The second registration of memory fails, as on a device that has no room for it.
func Example() {
	inner, err := mem.New(nil).Open("client", nil)
	if err != nil {
		log.Fatal(err)
	}
	inj := fault.New(fault.Config{Script: []fault.Fault{{Kind: fault.RefuseRegister, At: 2}}})
	pd, err := inj.Device(inner).AllocPD()
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		_, err := pd.RegisterMemory(make([]byte, 4096), verbs.AccessRemoteRead)
		fmt.Println(err == nil)
	}
	fmt.Println("injected:", inj.Count(fault.RefuseRegister).Fired)
	// Output:
	// true
	// false
	// true
	// injected: 1
}
