package rdmaio

import (
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

const (
	defaultTimeout = 30 * time.Second
	defaultInline  = 4096 // for a device without a preference
)

// settings holds a Config with its defaults filled in.
type settings struct {
	Config
	limits     chunk.Limits
	private    v1.Private // what this side advertises in version 1
	invalidate bool       // RemoteInvalidate, if the device can do it
	whole      int        // bytes of the longest message in which results come inline
	extensions *extensionSet
	firstRecv  int          // size of Receives at the beginning; more only if an extension says so
	faults     *slog.Logger // for errors and panics of handlers

	calls, serves int // credits for the Calls of this side, and for the peer's
}

// largestMessage is the size in bytes of the largest message that the defaults of this package and
// package rpc lead to: data of oncrpc.DefaultMaxMessage, with headers and what a security layer
// adds. A connection must be able to keep memory of that size for the next Call, and to leave it to
// a cancelled one.
const largestMessage = oncrpc.DefaultMaxMessage + 64<<10

// keepBytes returns the largest amount of unused memory for Calls with chunks that a connection
// keeps beyond the peak of its load: one buffer for the largest message.
func keepBytes() uint64 { return uint64(mrpool.Size(largestMessage)) }

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

// params returns the parameters of connection setup. The private data begins with the RFC 8797
// format, because some peers only look at its start (A30).
func (s *settings) params() *verbs.ConnParams {
	if s.private == v1.DefaultPrivate() || !s.speaks(v1.Number) {
		return nil // says the same (RFC 8797 §5.1)
	}
	return &verbs.ConnParams{PrivateData: s.private.Append(nil)}
}

// checkChunks returns an error for more chunks than the peer is likely to accept. It has the same
// limit by default, and would answer with ERR_CHUNK, which does not say why.
func (s *settings) checkChunks(what string, n int) error {
	if n <= s.MaxChunks {
		return nil
	}
	return &SizeError{
		What: "the number of " + what, Need: n, Limit: s.MaxChunks, Unit: "chunks",
		Hint: "use fewer items and results, or a larger Config.MaxChunks here and at the peer",
	}
}
