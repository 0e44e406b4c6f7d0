package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// authentication is the host authentication of a connection. Its states:
//
//	authWaiting ──────────────────────────────┐
//	    │ the first properties of the peer     │ the peer does not take part, and may stay:
//	    │ say that it takes part               │ HostAuthWanted with version 1, without the
//	    v                                      │ property, with a Call that comes first, or
//	authRunning                                │ with no properties before the timeout
//	    │ both ends are done                   │
//	    v                                      v
//	authOpen: with an identity             authOpen: without one
//
// A connection with HostAuthOff begins with authOpen. A failure closes the connection. The
// goroutine that runs the engine changes the state, except that the timer may change authWaiting to
// authOpen.
type authentication struct {
	state   atomic.Int32
	known   chan struct{}         // closed with authOpen; nil with HostAuthOff
	timer   *time.Timer           // nil without a limit
	session *hostauth.Session     // of authRunning
	over    bool                  // the session is complete
	failed  atomic.Pointer[error] // of the first failAuth
	peer    atomic.Pointer[hostauth.Peer]
	hint    string // why the peer may close the connection, until it answers a Call; the runner's
}

const (
	authOpen int32 = iota // RPC messages may be served and sent
	authWaiting
	authRunning
)

// isOpen reports whether RPC messages may pass.
func (a *authentication) isOpen() bool { return a.state.Load() == authOpen }

// prepare makes the state authWaiting, and sets the engine's part in it. timeout is called when
// HostAuth.Timeout is over.
func (a *authentication) prepare(h *HostAuth, timeout func(), cfg *engine.Config) {
	mode := h.Mode
	a.state.Store(authWaiting)
	a.known = make(chan struct{})
	if h.Timeout > 0 {
		a.timer = time.AfterFunc(h.Timeout, timeout)
		a.timer.Stop() // until the connection is made
	}
	cfg.Announce = []header.Property{v2.HostAuth(nil)}
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.4; R312: nothing is dispatched before; T107. A
	// peer that calls first does not take part.
	cfg.Guard = func() bool {
		s := a.state.Load()
		return s == authOpen || s == authWaiting && mode == HostAuthWanted
	}
}

// start begins to count Config.HostAuth.Timeout.
func (a *authentication) start(timeout time.Duration) {
	if a.timer != nil {
		a.timer.Reset(timeout)
	}
}

// stop stops the timer.
func (a *authentication) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// open lets RPC messages pass. It returns false if the state is not from. The caller then makes the
// handlers of extensions, and closes known.
func (a *authentication) open(from int32) bool {
	if !a.state.CompareAndSwap(from, authOpen) {
		return false
	}
	a.stop()
	return true
}

// fail returns the error that closes the connection, and keeps the first.
func (a *authentication) fail(why error) error {
	why = fmt.Errorf("%w: %w", ErrHostAuth, why)
	a.failed.CompareAndSwap(nil, &why)
	return why
}

// cause returns why the connection ended: the failure of host authentication, if there was one.
// What the peer sent after that may end the connection before EventClose does.
//
// A peer that requires host authentication closes a connection without it in order, and says
// nothing. So the error names it, unless the peer has answered: then it does not require it.
func (a *authentication) cause(end error) error {
	if first := a.failed.Load(); first != nil {
		return *first
	}
	if a.hint != "" && errors.Is(end, verbs.ErrPeerDisconnected) {
		return fmt.Errorf("%w before it answered a Call: %s", end, a.hint)
	}
	return end
}

// suspect sets the hint, from the first properties of the peer.
func (a *authentication) suspect(mode HostAuthMode, theirs []header.Property) {
	switch _, found, _ := v2.SplitHostAuth(theirs); {
	case found && mode == HostAuthOff:
		a.hint = hintOff
	case !found && mode == HostAuthWanted:
		a.hint = hintAbsent
	}
}

// The hints of authentication.
const (
	hintOff    = "it takes part in host authentication and may require it: set Config.HostAuth here (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6)"
	hintAbsent = "it did not take part in host authentication, which this side wants; if it has it, an attacker on the path may have removed property 6 " +
		"(draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6)"
)

// await blocks until RPC messages may be sent, or until the caller's context or the connection's
// (conn) is done.
func (a *authentication) await(ctx, conn context.Context) error {
	if a.isOpen() {
		return nil
	}
	select {
	case <-a.known:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("rdmaio: host authentication is not complete: %w", ctx.Err())
	case <-conn.Done():
	}
	err := context.Cause(conn)
	if errors.Is(err, ErrHostAuth) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: the connection ended before it was complete; the peer may have refused this side, and only its log has the reason: %w", ErrHostAuth, err)
}

// begin begins the exchange, if the peer takes part in it (R220), and returns the first message of
// this side. absent reports that the peer does not take part, and may stay.
func (a *authentication) begin(h *HostAuth, theirs, own []header.Property, role engine.Role, qp verbs.QueuePair) (step hostauth.Step, absent bool, _ error) {
	value, found, received := v2.SplitHostAuth(theirs)
	_, _, sent := v2.SplitHostAuth(own)
	switch {
	case !found && h.Mode == HostAuthRequired:
		return step, false, errors.New("the peer does not take part: its first properties have no number 6 (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6); set Config.HostAuth there")
	case !found:
		return step, true, nil
	case !a.state.CompareAndSwap(authWaiting, authRunning):
		// It has called before, or not begun in time, and stays without an identity.
		return step, false, nil
	case len(value) > 0:
		return step, false, fmt.Errorf("the value of property 6 has %d bytes in the first set, must be empty (package hostauth)", len(value))
	}
	info := hostauth.Info{Role: hostauth.Client, Sent: sent, Received: received}
	if role == engine.Responder {
		info.Role = hostauth.Server
	}
	binding, err := verbs.BindingOf(qp)
	if err != nil && !errors.Is(err, verbs.ErrNotSupported) {
		return step, false, err
	}
	info.Binding = hostauth.Binding(binding)
	if a.session, err = hostauth.NewSession(h.Method, info, h.Limits); err != nil {
		return step, false, err
	}
	step, err = a.session.Begin()
	return step, false, err
}

// receive takes a value of property 6 that comes after the first set, and returns the message that
// answers it. done reports that both ends are done.
func (a *authentication) receive(value []byte) (step hostauth.Step, done bool, err error) {
	switch {
	case a.over:
		return step, false, fmt.Errorf("a value of property 6 with %d bytes came after both ends were done", len(value))
	case a.session == nil:
		return step, false, nil // the peer stays without an identity
	}
	if step, err = a.session.ReceiveValue(value); err != nil {
		return hostauth.Step{}, false, err
	}
	if !a.session.Complete() {
		return step, false, nil
	}
	if peer, ok := a.session.Peer(); ok {
		a.peer.Store(&peer)
	}
	a.over, a.session = true, nil
	return step, true, nil
}
