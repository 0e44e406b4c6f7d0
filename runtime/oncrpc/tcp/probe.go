package tcp

import (
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

var _ oncrpc.Prober = (*Conn)(nil)

// Probe implements oncrpc.Prober by a keepalive probe of the system. A peer without this connection
// answers with a reset. One that does not answer for Config.PeerTimeout, or for limit if that is
// less, loses the connection, and so does one that has closed its direction of the stream and gets
// no further reply within limit. No keepalive probe is made over a stream that TCP does not carry,
// nor while an earlier one waits.
func (c *Conn) Probe(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && limit > 0 {
		c.half.probe(limit)
		c.probes.Probe(c.out.nc, limit, c.set.PeerTimeout)
	}
}
