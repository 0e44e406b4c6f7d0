package rdmaio

import (
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/lograte"
	"github.com/rpcrdma/rpcrdma/internal/places"
)

// shared holds the state that all connections of a server share.
type shared struct {
	memory budget
	joined joinedMemory
	places places.Places[request]
	faults *slog.Logger // for errors and panics of handlers
	log    *slog.Logger // for records that peers can cause

	// ends is for why a connection ended. It has its own rate limit, so that peers cannot hide
	// these records among others.
	ends *slog.Logger
}

// newShared returns a state without limits.
func newShared(set settings) *shared {
	return &shared{
		places: places.Places[request]{Run: (*request).run},
		faults: lograte.New(set.faults), log: lograte.New(set.Logger), ends: lograte.New(set.Logger),
	}
}

// budget is an amount of memory in bytes. The zero budget has no limit.
type budget struct {
	most int64
	used atomic.Int64
}

// reserve takes n bytes if that many are left, and reports whether it did.
func (b *budget) reserve(n int) bool {
	if used := b.used.Add(int64(n)); b.most == 0 || used <= b.most {
		return true
	}
	b.used.Add(int64(-n))
	return false
}

// release returns n bytes.
func (b *budget) release(n int) { b.used.Add(int64(-n)) }

// left returns the number of bytes that may still be taken.
func (b *budget) left() int {
	if b.most == 0 {
		return math.MaxInt
	}
	return int(max(b.most-b.used.Load(), 0))
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
