package rdmaio

import (
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
func (s *settings) protocols(role engine.Role, extra []header.Property) (list []protocol.Version) {
	for _, n := range s.Versions {
		if n == v1.Number {
			list = append(list, new(v1.Version))
			continue
		}
		list = append(list, v2.New(v2.Config{
			Dialed: role == engine.Requester, Own: s.properties(role), Posted: uint32(s.firstRecv), Invalidate: s.invalidate,
			Extra: extra, Types: s.extensions.flags, Body: s.extensions.body, KnownProperty: s.extensions.knows,
		}))
	}
	return list
}

// properties returns the properties of version 2 that this side advertises.
func (s *settings) properties(role engine.Role) v2.Properties {
	p := v2.Properties{
		MaxSend: uint32(s.InlineSend), ReceiveSize: uint32(s.InlineRecv),
		SegmentSize: math.MaxInt32, Segments: uint32(min(s.MaxSegments, math.MaxInt32)),
		Reverse: v2.ReverseNone,
	}
	switch {
	case role == engine.Responder, s.ReverseChunks:
		p.Reverse = v2.ReverseGeneral
	case s.serves > 0:
		p.Reverse = v2.ReverseInline
	}
	return p
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
