package rdmaio

import (
	"log/slog"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// shared holds the state that all connections of a server share.
type shared struct {
	memory admission.Budget
	joined joinedMemory
	places admission.Places[request]
	faults *slog.Logger // for errors and panics of handlers
	log    *slog.Logger // for records that peers can cause

	// ends logs why connections were closed. It has its own rate limit, so that peers cannot hide
	// these records among others.
	ends *slog.Logger
}

// newShared returns a state without limits.
func newShared(set settings) *shared {
	return &shared{
		places: admission.Places[request]{Run: (*request).run},
		faults: admission.LimitLog(set.faults), log: admission.LimitLog(set.Logger), ends: admission.LimitLog(set.Logger),
	}
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
