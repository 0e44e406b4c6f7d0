package rdmaio

import (
	"log/slog"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// shared holds the state that all connections of a server share.
type shared struct {
	memory admission.Budget
	unused admission.Budget // memory that connections keep for reuse
	joined joinedMemory
	places admission.Places[request]
	blocks admission.Blockers
	faults *slog.Logger // for errors and panics of handlers
	log    *slog.Logger // for records that peers can cause

	// ends logs why connections were closed. It has its own rate limit, so that peers cannot hide
	// these records among others.
	ends *slog.Logger
}

// keep reports whether n more bytes of unused memory may be kept, and counts them. If n is
// negative, as many fewer are kept.
func (s *shared) keep(n int) bool {
	if n < 0 {
		s.unused.Give(-n)
		return true
	}
	return s.unused.Take(n)
}
