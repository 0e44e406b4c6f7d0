package monitor

import (
	"context"
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Carrier returns a Carrier that makes Calls on c, and shows them. Pass it to a client of package
// rpc, or to package gss, in place of c.
func (m *Monitor) Carrier(c oncrpc.Carrier) oncrpc.Submitter {
	made := &carrier{c, m}
	if p, ok := c.(peered); ok {
		return &conversation{made, p}
	}
	return made
}

type carrier struct {
	oncrpc.Carrier
	m *Monitor
}

// conversation is a carrier on a connection, whose peer package rpc looks at after a refusal.
type conversation struct {
	*carrier
	peered
}

type peered interface{ Peer() oncrpc.Peer }

// Call implements oncrpc.Carrier.
func (c *carrier) Call(ctx context.Context, of *oncrpc.Call) (*oncrpc.Reply, error) {
	if !c.m.on.Load() {
		return c.Carrier.Call(ctx, of)
	}
	made := c.begin(of)
	defer c.end(made, of, nil, errUnknown) // if Call panics, or exits the goroutine
	reply, err := c.Carrier.Call(ctx, of)
	c.end(made, of, reply, err)
	return reply, err
}

// Submit implements oncrpc.Submitter.
func (c *carrier) Submit(ctx context.Context, of *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	if !c.m.on.Load() || done == nil {
		return oncrpc.Submit(ctx, c.Carrier, of, done)
	}
	made := c.begin(of)
	err := oncrpc.Submit(ctx, c.Carrier, of, func(reply *oncrpc.Reply, err error) {
		c.end(made, of, reply, err)
		done(reply, err)
	})
	if err != nil {
		c.end(made, of, nil, err)
	}
	return err
}

// begin records that a Call begins.
func (c *carrier) begin(of *oncrpc.Call) *call {
	made := &call{began: time.Now()}
	made.made = true
	if at, ok := c.Carrier.(interface{ RemoteAddr() string }); ok {
		made.peer = at.RemoteAddr()
	}
	if of != nil {
		made.prog, made.vers, made.proc, _ = oncrpc.Procedure(of.Inline)
		made.xid, _, _ = oncrpc.Peek(of.Inline)
		made.sent = of.Size(nil)
		if of.Steps == nil {
			of.Steps, made.lent = &made.steps, true
		}
	}
	c.m.begin(made)
	return made
}

// errUnknown is the error of a Call that did not return.
var errUnknown = errors.New("monitor: the Call did not return")

// end records how a Call ended, unless that was done before.
func (c *carrier) end(made *call, of *oncrpc.Call, reply *oncrpc.Reply, err error) {
	switch {
	case made.ended:
		return
	case made.lent:
		of.Steps = nil
	case of != nil && of.Steps != nil:
		made.steps = *of.Steps
	}
	made.ended = true
	outcome, received := "no reply", 0
	if err == nil {
		received = len(reply.Message)
		for _, it := range reply.Items {
			received += len(it.Data)
		}
		outcome = statusOf(&oncrpc.Message{Inline: reply.Message})
	}
	c.m.finish(made, outcome, received)
}
