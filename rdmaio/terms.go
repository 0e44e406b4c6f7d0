package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Terms are the parameters that the two ends of a connection negotiated, as seen from one of them.
type Terms struct {
	// Version is the version of RPC-over-RDMA. It is 0 if Config.Versions has several and the
	// version is not known, on an accepted connection until the first message of the client.
	Version int

	// InlineSend and InlineRecv are the largest messages, header included, that this side sends and
	// receives without chunks, in bytes. Config says how they are negotiated.
	InlineSend, InlineRecv int

	// RemoteInvalidate reports whether the server may invalidate one key of a Call with its reply.
	RemoteInvalidate bool

	// Reads is the largest number of RDMA Reads that this side has in progress at a time, for the
	// chunks of Calls that it serves. If zero, only the queue pairs limit it. If negative, this
	// side makes no RDMA Reads and refuses Calls that need any by ERR_CHUNK.
	Reads int

	// SegmentSize is the size in bytes of the longest segment that the peer takes, and MaxSegments
	// the number of segments that the header of a Call of this side may have (version 2). If zero,
	// there is no agreed limit.
	SegmentSize, MaxSegments int

	// NoReadChunks reports that the peer makes no RDMA Reads. Calls of this side then have no read
	// chunks, and fail with a *SizeError if they do not fit inline.
	NoReadChunks bool
}

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

// applyTerms makes the connection and the engine use t.
func (c *Conn) applyTerms(t header.Terms) {
	c.agree(&t, nil)
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
