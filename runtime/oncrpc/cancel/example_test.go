package cancel_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

// One end gives up two Calls, and the other end learns their XIDs.
func Example() {
	var outbox cancel.Outbox
	outbox.Add(17)
	outbox.Add(18)
	call := outbox.Next(100) // to be sent on the same connection
	reply := cancel.Serve(call, func(xids []uint32) { fmt.Println("given up:", xids) })
	fmt.Println("the peer has the program:", outbox.Answered(100, reply))
	// Output:
	// given up: [17 18]
	// the peer has the program: true
}
