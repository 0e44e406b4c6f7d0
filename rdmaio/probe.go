package rdmaio

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

var _ oncrpc.Prober = (*Conn)(nil)

// Probe implements oncrpc.Prober by an RDMA Write of no bytes. The connection is lost if the
// transport finds that the peer's end is gone: hardware by its retries, and providers over TCP by a
// reset, or by their PeerTimeout. limit has no effect.
func (c *Conn) Probe(time.Duration) { c.driver.Post(engine.Event{Kind: engine.EventProbe}) }
