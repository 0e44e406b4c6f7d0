package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Terms are what the two ends of a connection agreed on, as seen from one of them.
type Terms struct {
	// InlineSend and InlineRecv are how large a message goes and comes without chunks at most, header
	// included, bytes. See Config for how they come about.
	InlineSend, InlineRecv int

	// RemoteInvalidate: the server may end one key of a Call by its Reply.
	RemoteInvalidate bool

	// Reads is how many RDMA Reads at a time this side has in progress at most, for the chunks of Calls
	// that it serves. 0, until something else was agreed on, is what the
	// queue pairs can do; negative is none: Calls that need any are refused by ERR_CHUNK.
	Reads int

	// NoReadChunks: the peer can make no RDMA Reads, so that Calls of this side have no read
	// chunks, and those that do not fit inline are refused with a *SizeError.
	NoReadChunks bool
}

// Terms returns what holds now.
func (c *Conn) Terms() Terms {
	t := c.terms.Load()
	return Terms{
		InlineSend: t.Send, InlineRecv: t.Recv, RemoteInvalidate: t.RemoteInvalidate,
		Reads: t.Reads, NoReadChunks: t.NoReadChunks,
	}
}

// MaxTerms returns the largest inline sizes that there is memory for: Config.InlineSend and InlineRecv.
func (c *Conn) MaxTerms() Terms {
	return Terms{InlineSend: c.set.InlineSend, InlineRecv: c.set.InlineRecv, RemoteInvalidate: c.set.private.RemoteInvalidate}
}

// SetTerms is for a protocol that agrees on something else over the connection itself, such
// as that of package connconf. Both ends have to take the new terms at the same place of
// the conversation, with no other Call in progress: one that is being made meanwhile may fail
// with a *SizeError. Sizes are limited to what Config.InlineSend and InlineRecv gave memory to, and to 1024 from
// below (R300). RemoteInvalidate can only be settled when the connection is made and is not looked at.
func (c *Conn) SetTerms(t Terms) error {
	if t.InlineSend < 0 || t.InlineRecv < 0 {
		return fmt.Errorf("rdmaio: SetTerms: inline sizes %d and %d must not be negative: %w", t.InlineSend, t.InlineRecv, verbs.ErrInvalidValue)
	}
	c.take(c.possible(header.Terms{
		Send:             min(max(t.InlineSend, header.LeastInline), c.set.InlineSend),
		Recv:             min(max(t.InlineRecv, header.LeastInline), c.set.InlineRecv),
		RemoteInvalidate: c.terms.Load().RemoteInvalidate,
		Reads:            t.Reads, NoReadChunks: t.NoReadChunks,
	}))
	if c.set.Events != nil {
		c.set.Events(&TermsSet{Conn: c, Terms: c.Terms()})
	}
	return nil
}

// take makes terms those that hold.
func (c *Conn) take(t header.Terms) {
	c.terms.Store(&t)
	c.post(engine.Event{Kind: engine.EventTerms, Terms: &t})
}

// possible returns terms without what the queue pairs cannot do: where no RDMA Read is to be had, Calls that need one are
// refused by ERR_CHUNK, and ours have no read chunks (R297).
func (c *Conn) possible(t header.Terms) header.Terms {
	if c.noReads.Load() {
		t.Reads = -1
	}
	t.NoReadChunks = t.NoReadChunks || c.peerNoReads.Load()
	return t
}

// connected settles how many RDMA Reads the queue pairs can do.
func (c *Conn) connected(info *verbs.ConnInfo) {
	c.noReads.Store(info.InitiatorDepth == 0)
	c.peerNoReads.Store(info.ResponderResources == 0)
	t := c.possible(*c.terms.Load())
	t.ReadsUnknown = false
	c.take(t)
}

// agree settles what the connection can do, by the private data that the peer sent. RDMA Reads wait for connected, since a
// Call may come before Accept returns.
// Our Receives were posted with the size we advertised before we did.
func (c *Conn) agree(private []byte) {
	peer, said := header1.FindPrivate(private)
	t := header1.Agree(c.set.private, peer)
	t.ReadsUnknown = true
	c.take(t)
	c.set.Logger.Debug("rdmaio: terms", "queue_pair", c.qp.Num(), "peer_said", said,
		"send", t.Send, "receive", t.Recv, "remote_invalidate", t.RemoteInvalidate)
}
