package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Terms returns the terms that hold now.
func (c *Conn) Terms() Terms { return c.agreed.terms() }

// MaxTerms returns the largest terms that SetTerms can set: the inline sizes for which the
// connection has memory, Config.InlineSend and InlineRecv.
func (c *Conn) MaxTerms() Terms {
	t := Terms{InlineSend: c.set.InlineSend, InlineRecv: c.set.InlineRecv, RemoteInvalidate: c.set.invalidate, Version: c.Terms().Version}
	if t.Version == v1.Number {
		t.InlineRecv = c.set.firstRecv // Receives stay as they are
	}
	return t
}

// SetTerms changes the terms. It is for a protocol that negotiates them over the connection itself,
// such as package connconf. Both ends must call it at the same point of the conversation, with no
// other Call in progress: a Call made at that time may fail with a *SizeError. Inline sizes are
// raised to 1024 and cut to the sizes of MaxTerms (R300). RemoteInvalidate is ignored, because it
// can only be negotiated when the connection is made. The error wraps verbs.ErrInvalidValue if a
// size is negative, or verbs.ErrNotSupported in version 2, which negotiates sizes itself.
func (c *Conn) SetTerms(t Terms) error {
	if t.InlineSend < 0 || t.InlineRecv < 0 {
		return fmt.Errorf("rdmaio: SetTerms: InlineSend is %d and InlineRecv %d, neither may be negative: %w", t.InlineSend, t.InlineRecv, verbs.ErrInvalidValue)
	}
	if c.agreed.Load().version.Properties() != nil {
		return fmt.Errorf("rdmaio: SetTerms: version %d negotiates the sizes of messages itself: %w", c.agreed.Load().version.Number(), verbs.ErrNotSupported)
	}
	c.applyTerms(c.agreed.possible(header.Terms{
		Send:             min(max(t.InlineSend, header.LeastInline), c.set.InlineSend),
		Recv:             min(max(t.InlineRecv, header.LeastInline), c.set.firstRecv),
		RemoteInvalidate: c.agreed.Load().RemoteInvalidate,
		Reads:            t.Reads, NoReadChunks: t.NoReadChunks,
	}))
	if c.set.Events != nil {
		c.set.Events(&TermsSet{Conn: c, Terms: c.Terms()})
	}
	return nil
}

// applyTerms makes the connection and the engine use t, the terms of version 1.
func (c *Conn) applyTerms(t header.Terms) {
	c.agreed.apply(t)
	c.driver.Post(engine.Event{Kind: engine.EventTerms, Control: &engine.Control{Terms: &t}})
}

// connected sets the terms for RDMA Reads from what the queue pairs negotiated.
func (c *Conn) connected(info *verbs.ConnInfo) {
	c.applyTerms(c.agreed.connected(info))
	c.auth.start(c.set.HostAuth.Timeout)
}

// negotiate sets the terms from the private data of the peer.
func (c *Conn) negotiate(private []byte) {
	t, advertised := c.agreed.negotiate(c.set.private, private)
	c.applyTerms(t)
	c.set.Logger.Debug("rdmaio: terms", "queue_pair", c.qp.Num(), "peer_advertised", advertised,
		"send", t.Send, "receive", t.Recv, "remote_invalidate", t.RemoteInvalidate)
}

// agree takes new terms, and the version if it is known.
func (c *Conn) agree(t *header.Terms, v protocol.Version) {
	if !c.agreed.take(t, v) {
		return
	}
	if c.auth.isOpen() {
		c.extensions.attach()
	}
	close(c.agreed.settled)
	c.set.Logger.Debug("rdmaio: version", "queue_pair", c.qp.Num(), "version", v.Number())
	c.emitVersion()
}
