package trace_test

import (
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// The verbs that a program calls are recorded.
func Example() {
	inner, err := mem.New(nil).Open("client", nil)
	if err != nil {
		log.Fatal(err)
	}
	rec := trace.NewRecorder(100)
	var dev verbs.Device = trace.New(trace.Config{Sink: rec.Add}).Device(inner)
	pd, err := dev.AllocPD()
	if err != nil {
		log.Fatal(err)
	}
	if err := pd.Close(); err != nil {
		log.Fatal(err)
	}
	for _, e := range rec.Events() {
		fmt.Println(e.Kind)
	}
	// Output:
	// alloc-pd
	// close-pd
}
