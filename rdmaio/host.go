package rdmaio

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/driver"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// host has the things that the parts of a connection share: the configuration, the driver, the
// agreement with the peer, and the end of the connection. newConn sets the fields, and a Server the
// loggers, before the connection is made. After that only agreed, auth and the events change, by
// their own methods.
type host struct {
	conn   *Conn // of events and Requests, which name it
	set    settings
	role   engine.Role
	shared *shared
	share  *admission.Share // of shared.memory, for the peer's source
	start  time.Time

	driver *driver.Driver
	qp     verbs.QueuePair // the driver's
	pool   *mrpool.Pool

	log  *slog.Logger // shared.log with the peer's address
	ends *slog.Logger // shared.ends with the peer's address

	agreed agreement
	auth   authentication
	begun  sync.Once // ConnUp was emitted, or never will be
	wasUp  bool      // ConnUp was emitted; set by begun

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
}

// fail closes the connection with an error.
func (h *host) fail(why error) { h.driver.Post(engine.Event{Kind: engine.EventClose, Err: why}) }

// deviceGone closes the connection if err says that the device is gone, and reports whether it
// does. An ERROR for the Call at hand might still arrive, and the peer would take it for the
// reason.
func (h *host) deviceGone(err error) bool {
	gone := errors.Is(err, verbs.ErrDeviceRemoved)
	if gone {
		h.fail(err)
	}
	return gone
}

// reserve counts the memory of continued messages and kept replies for Config.MaxMemory.
func (h *host) reserve(n int) bool {
	if n < 0 {
		h.share.Give(-n)
		return true
	}
	if h.share.Take(n, nil) {
		return true
	}
	h.limitReached(LimitMaxMemory)
	return false
}
