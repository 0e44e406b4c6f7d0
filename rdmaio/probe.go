package rdmaio

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

var _ oncrpc.Prober = (*Conn)(nil)

// Probe implements oncrpc.Prober by an RDMA Write of no bytes, and over TCP by a keepalive probe of
// the system (verbs.Prober). The connection is lost if the transport finds that the peer's end is
// gone, or if the Write has not completed within limit: hardware completes it when the peer's
// device has acknowledged it.
func (c *Conn) Probe(limit time.Duration) {
	c.driver.Post(engine.Event{Kind: engine.EventProbe, Control: &engine.Control{Limit: limit}})
	_ = verbs.Probe(c.qp, limit) // a provider that cannot has the Write
}
