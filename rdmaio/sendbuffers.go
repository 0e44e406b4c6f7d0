package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// growSendBuffers passes n more send buffers to the engine, fewer if the provider has no memory for
// them. Messages that get none wait until one that is in use becomes free.
func (c *Conn) growSendBuffers(n int) {
	var list []*engine.Buffer
	for range n {
		b, err := c.pool.Buffer(c.set.InlineSend)
		if err != nil {
			c.log.Warn("rdmaio: no memory for a send buffer", "queue_pair", c.qp.Num(), "has", len(list), "wanted", n, "reason", err)
			break
		}
		list = append(list, &engine.Buffer{MR: b.MR, Bytes: b.Bytes, Owner: b})
	}
	c.driver.Post(engine.Event{Kind: engine.EventBuffers, Control: &engine.Control{Buffers: list}})
}

// freeSendBuffer frees a send buffer that the engine returned. The pool does not keep it, because
// other connections may need the memory more.
func (c *Conn) freeSendBuffer(b *engine.Buffer) {
	if err := c.pool.Discard(b.Owner.(*mrpool.Buffer)); err != nil {
		c.fail(err)
	}
	*b = engine.Buffer{} // other effects of the engine may refer to it
}
