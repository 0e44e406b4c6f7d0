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
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
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

// prepareAuth sets the initial state, and the settings of the engine.
func (c *Conn) prepareAuth(cfg *engine.Config) {
	h, a := &c.set.HostAuth, &c.auth
	if h.Mode == HostAuthOff {
		return
	}
	a.state.Store(authWaiting)
	a.known = make(chan struct{})
	if h.Timeout > 0 {
		a.timer = time.AfterFunc(h.Timeout, c.authTimeout)
		a.timer.Stop() // until the connection is made
	}
	cfg.Announce = []header.Property{v2.HostAuth(nil)}
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.4; R312: nothing is dispatched before; T107. A
	// peer that calls first does not take part.
	cfg.Guard = func() bool {
		s := a.state.Load()
		return s == authOpen || s == authWaiting && h.Mode == HostAuthWanted
	}
}

// startAuthTimer begins to count Config.HostAuth.Timeout.
func (c *Conn) startAuthTimer() {
	if c.auth.timer != nil {
		c.auth.timer.Reset(c.set.HostAuth.Timeout)
	}
}

// authTimeout ends the wait for the peer: with HostAuthWanted for one that has sent nothing, and
// else with the connection.
func (c *Conn) authTimeout() {
	if c.set.HostAuth.Mode == HostAuthWanted && c.openAuth(authWaiting) || c.auth.isOpen() {
		return
	}
	c.failAuth(fmt.Errorf("it was not complete within Config.HostAuth.Timeout, %v", c.set.HostAuth.Timeout))
}

// openAuth lets RPC messages pass. It returns false if the state is not from.
func (c *Conn) openAuth(from int32) bool {
	a := &c.auth
	if !a.state.CompareAndSwap(from, authOpen) {
		return false
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	c.attach()
	close(a.known)
	if c.role == engine.Responder { // now: the connection may end before its Server knows
		c.emitUp()
	}
	return true
}

// failAuth closes the connection. The peer does not get the reason.
func (c *Conn) failAuth(why error) {
	why = fmt.Errorf("%w: %w", ErrHostAuth, why)
	c.auth.failed.CompareAndSwap(nil, &why)
	c.driver.Post(engine.Event{Kind: engine.EventClose, Err: why})
}

// cause returns why the connection ended: the failure of host authentication, if there was one.
// What the peer sent after that may end the connection before EventClose does.
//
// A peer that requires host authentication closes a connection without it in order, and says
// nothing. So the error names it, unless the peer has answered: then it does not require it.
func (c *Conn) cause(end error) error {
	a := &c.auth
	if first := a.failed.Load(); first != nil {
		return *first
	}
	if a.hint != "" && errors.Is(end, verbs.ErrPeerDisconnected) {
		return fmt.Errorf("%w before it answered a Call: %s", end, a.hint)
	}
	return end
}

// suspect sets the hint, from the first properties of the peer.
func (c *Conn) suspect(theirs []header.Property) {
	switch _, found, _ := v2.SplitHostAuth(theirs); {
	case found && c.set.HostAuth.Mode == HostAuthOff:
		c.auth.hint = hintOff
	case !found && c.set.HostAuth.Mode == HostAuthWanted:
		c.auth.hint = hintAbsent
	}
}

// The hints of authentication.
const (
	hintOff    = "it takes part in host authentication and may require it: set Config.HostAuth here (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6)"
	hintAbsent = "it did not take part in host authentication, which this side wants; if it has it, an attacker on the path may have removed property 6 " +
		"(draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6)"
)

// awaitAuth waits until RPC messages may be sent.
func (c *Conn) awaitAuth(ctx context.Context) error {
	if c.auth.isOpen() {
		return nil
	}
	select {
	case <-c.auth.known:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("rdmaio: host authentication is not complete: %w", ctx.Err())
	case <-c.ctx.Done():
	}
	if err := c.Err(); errors.Is(err, ErrHostAuth) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: the connection ended before it was complete; the peer may have refused this side, and only its log has the reason: %w", ErrHostAuth, c.Err())
}

// authVersion takes the version of the connection.
func (c *Conn) authVersion(v protocol.Version) {
	if v != nil && v.Properties() == nil && c.set.HostAuth.Mode == HostAuthWanted {
		c.openAuth(authWaiting)
	}
}

// authenticate takes the properties and the host authentication messages of the peer.
func (c *Conn) authenticate(f *engine.Effects) {
	if c.set.HostAuth.Mode == HostAuthOff {
		return
	}
	var err error
	if f.Props != nil {
		err = c.beginAuth(f.Props)
	}
	for _, value := range f.Auth {
		if err == nil {
			err = c.continueAuth(value)
		}
	}
	if err != nil {
		c.failAuth(err)
	}
}

// beginAuth begins the exchange, if the peer takes part in it (R220).
func (c *Conn) beginAuth(theirs []header.Property) error {
	value, found, received := v2.SplitHostAuth(theirs)
	own := c.agreed.Load().version.Properties()
	_, _, sent := v2.SplitHostAuth(own)
	switch {
	case !found && c.set.HostAuth.Mode == HostAuthRequired:
		return errors.New("the peer does not take part: its first properties have no number 6 (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6); set Config.HostAuth there")
	case !found:
		c.openAuth(authWaiting)
		return nil
	case !c.auth.state.CompareAndSwap(authWaiting, authRunning):
		return nil // it has called before, or not begun in time, and stays without an identity
	case len(value) > 0:
		return fmt.Errorf("the value of property 6 has %d bytes in the first set, must have none (package hostauth)", len(value))
	}
	info := hostauth.Info{Role: hostauth.Client, Sent: sent, Received: received}
	if c.role == engine.Responder {
		info.Role = hostauth.Server
	}
	binding, err := verbs.BindingOf(c.qp)
	if err != nil && !errors.Is(err, verbs.ErrNotSupported) {
		return err
	}
	info.Binding = hostauth.Binding(binding)
	if c.auth.session, err = hostauth.NewSession(c.set.HostAuth.Method, info, c.set.HostAuth.Limits); err != nil {
		return err
	}
	step, err := c.auth.session.Begin()
	c.sendAuth(step)
	return err
}

// continueAuth takes a value of property 6 that comes after the first set.
func (c *Conn) continueAuth(value []byte) error {
	a := &c.auth
	switch {
	case a.over:
		return fmt.Errorf("a value of property 6 with %d bytes came after both ends were done", len(value))
	case a.session == nil:
		return nil // the peer stays without an identity
	}
	step, err := a.session.ReceiveValue(value)
	if err != nil {
		return err
	}
	c.sendAuth(step)
	if !a.session.Complete() {
		return nil
	}
	if peer, ok := a.session.Peer(); ok {
		a.peer.Store(&peer)
	}
	a.over, a.session = true, nil
	c.openAuth(authRunning)
	return nil
}

// sendAuth sends the message of a Step, in as many sets of properties as it needs (R219).
func (c *Conn) sendAuth(step hostauth.Step) {
	t := c.agreed.Load()
	for _, value := range step.Values(v2.HostAuthRoom(t.Send, t.version.Properties())) {
		c.driver.Post(engine.Event{Kind: engine.EventProperties, Control: &engine.Control{Props: []header.Property{v2.HostAuth(value)}}})
	}
}

// early reports whether Calls of the peer came too early, and then closes the connection (T107).
// With HostAuthWanted, a peer that calls before it has sent properties stays without an identity.
func (c *Conn) early() bool {
	if c.auth.isOpen() || c.set.HostAuth.Mode == HostAuthWanted && c.openAuth(authWaiting) {
		return false
	}
	c.failAuth(errEarly)
	return true
}

// turnAway ends the Requests of a step without serving them, and takes them from the step, with the
// messages of extensions.
func (c *Conn) turnAway(f *engine.Effects) {
	for _, q := range f.Assemble {
		c.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: ErrHostAuth})
	}
	for _, q := range f.Deliver {
		q.Answer.Drop = true
		c.driver.Post(engine.Event{Kind: engine.EventReply, Request: q})
	}
	f.Assemble, f.Deliver, f.Others = nil, nil, nil
}

// errEarly is the reason of early.
var errEarly = errors.New("the peer sent a Call before it was complete (R312)")
