package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// translate returns an error of the engine as one that this package exports. engine.ErrInternal,
// which has no exported error, is wrapped. All other errors are returned as they are: the errors
// of package verbs, and errors that this package passed to the engine.
func translate(err error) error {
	switch e := err.(type) { //nolint:errorlint // the engine does not wrap its own errors
	case *header.Fault:
		return &Fault{Code: FaultCode(e.Code), Where: e.Where, Index: e.Index, Found: e.Found, Want: e.Want, Err: e.Err}
	case *engine.PeerError:
		b := &e.Body
		return &PeerError{Version: e.Version, Code: PeerErrorCode(b.Code), Low: b.Low, High: b.High, Max: b.Max, Index: b.Index, Need: b.Need}
	case *engine.SizeError:
		return &SizeError{What: "message", Need: e.Need, Limit: e.Limit, Hint: "Conn.SetTerms made the limit smaller while the message waited: send it again"}
	case *engine.Error:
		if e.Reason == engine.ErrEarly {
			return fmt.Errorf("%w: %w: %s", ErrHostAuth, errEarly, e.Detail)
		}
		if e.Reason == engine.ErrEarlyReply {
			return fmt.Errorf("rdmaio: the peer answered the Call before it had received all of it (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.2): %s", e.Detail)
		}
		switch sentinel := sentinelOf(e.Reason); {
		case sentinel == nil:
			return fmt.Errorf("rdmaio: bug in this package or in the provider: %w", err)
		case e.Detail == "":
			return sentinel
		default:
			return fmt.Errorf("%w: %s", sentinel, e.Detail)
		}
	}
	return err
}

// sentinelOf returns the exported error for a reason of the engine, or nil if it has no such error.
func sentinelOf(reason engine.Reason) error {
	switch reason {
	case engine.ErrTimeout:
		return ErrTimeout
	case engine.ErrGivenUp:
		return oncrpc.ErrCanceled
	case engine.ErrTooManyErrors:
		return ErrTooManyErrors
	case engine.ErrXIDInUse:
		return ErrXIDInUse
	case engine.ErrInvalidated:
		return ErrInvalidated
	case engine.ErrNoDone:
		return ErrNoDone
	case engine.ErrNoVersion:
		return ErrNoVersion
	case engine.ErrNoAnswer:
		return ErrNoAnswer
	}
	return nil
}
