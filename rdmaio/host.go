package rdmaio

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/driver"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// host has the things that the parts of a connection share: the configuration, the driver, the
// agreement with the peer, and the end of the connection. newConn sets the fields, and a Server the
// loggers, before the connection is made. After that only agreed, auth and the events change, by
// their own methods.
type host struct {
	conn   *Conn     // of events and Requests, which name it
	set    *settings // a Server has one; nothing changes it
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

// rpcOf returns the RPC that a message belongs to. The message must have an XID at least.
func (h *host) rpcOf(m []byte) RPC {
	r := RPC{Conn: h.conn, XID: binary.BigEndian.Uint32(m)}
	if len(m) >= 24 {
		r.Program, r.Version, r.Procedure = binary.BigEndian.Uint32(m[12:]), binary.BigEndian.Uint32(m[16:]), binary.BigEndian.Uint32(m[20:])
	}
	return r
}

// emitUp emits ConnUp, once. Other events of the connection wait for it. It reports whether it did.
func (h *host) emitUp() (emitted bool) {
	if h.set.Events != nil && h.auth.isOpen() {
		h.begun.Do(func() {
			h.wasUp, emitted = true, true
			up := &ConnUp{Conn: h.conn, Accepted: h.role == engine.Responder, Terms: h.agreed.terms(), Peer: h.auth.peer.Load()}
			h.set.Events(up)
		})
	}
	return emitted
}

// emitVersion emits TermsSet when the first message of the client has shown the version and the
// sizes, unless ConnUp has them.
func (h *host) emitVersion() {
	if h.set.Events == nil || h.role == engine.Requester || !h.set.speaks(v2.Number) || context.Cause(h.ctx) != nil || !h.auth.isOpen() {
		return
	}
	if !h.emitUp() && h.wasUp {
		h.set.Events(&TermsSet{Conn: h.conn, Terms: h.agreed.terms()})
	}
}

// emitDown emits ConnDown if ConnUp was emitted. Err must return the reason already.
func (h *host) emitDown() {
	if h.set.Events == nil {
		return
	}
	h.begun.Do(func() {})
	if h.wasUp {
		h.set.Events(&ConnDown{Conn: h.conn, Reason: context.Cause(h.ctx)})
	}
}

// emit emits an event that the peer may have caused. On an accepted connection ConnUp comes first:
// the side that dialed may send before Accept returns here. There is no event before host
// authentication is complete.
func (h *host) emit(e Event) {
	if !h.auth.isOpen() {
		return
	}
	if h.role == engine.Responder {
		h.emitUp()
	}
	h.set.Events(e)
}

// limitReached emits LimitHit.
func (h *host) limitReached(l Limit) {
	if h.set.Events != nil {
		h.emit(&LimitHit{Conn: h.conn, Limit: l})
	}
}
