package rdmaio

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// authTimeout gives up the wait for the peer: with HostAuthWanted for one that has sent nothing,
// and else with the connection.
func (c *Conn) authTimeout() {
	if c.set.HostAuth.Mode == HostAuthWanted && c.openAuth(authWaiting) || c.auth.isOpen() {
		return
	}
	c.failAuth(fmt.Errorf("it was not complete within Config.HostAuth.Timeout, %v", c.set.HostAuth.Timeout))
}

// openAuth lets RPC messages pass. It returns false if the state is not from.
func (c *Conn) openAuth(from int32) bool {
	if !c.auth.open(from) {
		return false
	}
	c.extensions.attach()
	close(c.auth.known)
	if c.role == engine.Responder { // now: the connection may end before its Server knows
		c.emitUp()
	}
	return true
}

// failAuth closes the connection. The peer does not get the reason.
func (c *Conn) failAuth(why error) { c.fail(c.auth.fail(why)) }

// authenticate takes the properties and the host authentication messages of the peer.
func (c *Conn) authenticate(f *engine.Effects) {
	h := &c.set.HostAuth
	if h.Mode == HostAuthOff {
		return
	}
	var err error
	if f.Props != nil {
		var step hostauth.Step
		var absent bool
		step, absent, err = c.auth.begin(h, f.Props, c.agreed.Load().version.Properties(), c.role, c.qp)
		c.sendAuth(step)
		if absent {
			c.openAuth(authWaiting)
		}
	}
	for _, value := range f.Auth {
		if err != nil {
			break
		}
		var step hostauth.Step
		var done bool
		step, done, err = c.auth.receive(value)
		c.sendAuth(step)
		if done {
			c.openAuth(authRunning)
		}
	}
	if err != nil {
		c.failAuth(err)
	}
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

// turnAway drops the Requests of a step without serving them. It removes them from the step, and
// the messages of extensions, too.
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
