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
