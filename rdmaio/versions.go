package rdmaio

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// checkVersions returns the versions with the default filled in, or an error if one of them does
// not exist or is there twice. It returns err if that is not nil.
func checkVersions(list []int, err error) ([]int, error) {
	if list == nil {
		list = []int{v1.Number}
	}
	if err != nil {
		return list, err
	}
	if len(list) == 0 {
		return list, fmt.Errorf("rdmaio: Config.Versions is empty, must have 1, 2 or both (nil is version 1): %w", verbs.ErrInvalidValue)
	}
	for i, n := range list {
		if n != v1.Number && n != v2.Number || slices.Contains(list[:i], n) {
			return list, fmt.Errorf("rdmaio: Config.Versions is %v, must have 1, 2 or both, each once: %w", list, verbs.ErrInvalidValue)
		}
	}
	return list, nil
}

// speaks reports whether this side has a version.
func (s *settings) speaks(version int) bool { return slices.Contains(s.Versions, version) }

// extraReceives is the number of Receives beyond the credits: version 2 needs one for a message
// that only grants credits, and one for a peer that counts such a message in another way (R175).
func (s *settings) extraReceives() int {
	if s.speaks(v2.Number) {
		return 2
	}
	return 0
}

// protocols returns the versions for a connection, in order of preference. extra are the properties
// of extensions.
func (c *Conn) protocols(extra []header.Property) (list []protocol.Version) {
	for _, n := range c.set.Versions {
		if n == v1.Number {
			list = append(list, new(v1.Version))
			continue
		}
		list = append(list, v2.New(v2.Config{
			Dialed: c.role == engine.Requester, Own: c.properties(), Posted: uint32(c.set.firstRecv), Invalidate: c.set.invalidate,
			Extra: extra, Types: c.set.extensions.flags, Body: c.set.extensions.body, KnownProperty: c.set.extensions.knows,
		}))
	}
	return list
}

// properties returns the properties of version 2 that this side advertises.
func (c *Conn) properties() v2.Properties {
	p := v2.Properties{
		MaxSend: uint32(c.set.InlineSend), ReceiveSize: uint32(c.set.InlineRecv),
		SegmentSize: math.MaxInt32, Segments: uint32(min(c.set.MaxSegments, math.MaxInt32)),
		Reverse: v2.ReverseNone,
	}
	switch {
	case c.role == engine.Responder, c.set.ReverseChunks:
		p.Reverse = v2.ReverseGeneral
	case c.set.serves > 0:
		p.Reverse = v2.ReverseInline
	}
	return p
}

// awaitVersion waits until the version is known.
func (c *Conn) awaitVersion(ctx context.Context) error {
	if c.agreed.Load().known {
		return nil
	}
	select {
	case <-c.settled:
		return nil
	case <-c.ctx.Done():
		return c.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve counts the memory of continued messages and kept replies for Config.MaxMemory.
func (c *Conn) reserve(n int) bool {
	if n < 0 {
		c.shared.memory.release(-n)
		return true
	}
	if c.shared.memory.reserve(n) {
		return true
	}
	c.limitReached(LimitMaxMemory)
	return false
}

// agreed holds the terms of a connection and its version.
type agreed struct {
	header.Terms
	version protocol.Version // the preferred one until it is known
	known   bool
}

// number returns the number of the version, or 0 if it is not known.
func (c *Conn) number(a *agreed) int {
	if !a.known && len(c.set.Versions) > 1 {
		return 0
	}
	return int(a.version.Number())
}

// agree takes new terms, and the version if it is known.
func (c *Conn) agree(t *header.Terms, v protocol.Version) {
	before := c.agreed.Load()
	a := &agreed{Terms: *t, version: before.version, known: before.known}
	if v != nil {
		a.version, a.known = v, true
	}
	c.agreed.Store(a)
	if v != nil {
		c.versionKnown.Do(func() {
			if c.auth.isOpen() {
				c.attach()
			}
			close(c.settled)
			c.set.Logger.Debug("rdmaio: version", "queue_pair", c.qp.Num(), "version", v.Number())
			c.emitVersion()
		})
	}
}
