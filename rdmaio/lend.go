package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// lend gives the engine n send buffers, or as many as there is memory for: messages
// wait for those that are in use then.
func (c *Conn) lend(n int) {
	var list []*engine.Buffer
	for range n {
		b, err := c.pool.Buffer(c.set.InlineSend)
		if err != nil {
			c.log.Warn("rdmaio: no memory for a send buffer", "queue_pair", c.qp.Num(), "has", len(list), "wanted", n, "reason", err)
			break
		}
		list = append(list, &engine.Buffer{MR: b.MR, Bytes: b.Bytes, Owner: b})
	}
	c.post(engine.Event{Kind: engine.EventBuffers, Buffers: list})
}

// giveBack frees a send buffer: others may need the memory more than this connection.
func (c *Conn) giveBack(b *engine.Buffer) {
	if err := c.pool.Discard(b.Owner.(*mrpool.Buffer)); err != nil {
		c.post(engine.Event{Kind: engine.EventClose, Err: err})
	}
}
