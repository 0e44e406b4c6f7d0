package carriers

import "github.com/rpcrdma/rpcrdma/runtime/oncrpc"

// Carrier is an oncrpc.Carrier that can be closed: a tcp.Client, an rdmaio.Client, a udp.Conn, and
// the Client of this package.
type Carrier interface {
	oncrpc.Carrier

	// Close fails all Calls, and waits for the done functions of those that were submitted.
	Close() error
}
