package gss

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// CarrierConfig configures NewCarrier. A nil *CarrierConfig has the default in every field.
type CarrierConfig struct {
	// Service is the protection of the arguments and results. If zero, the default is Integrity.
	// The header of each call is always authenticated, and never encrypted.
	Service Service
}

// Carrier makes calls with RPCSEC_GSS over another oncrpc.Carrier. All methods are safe for
// concurrent use.
//
// It takes calls with the credential AUTH_NONE, and returns replies without their protection, so
// package rpc needs no configuration for it. The first call makes a context, with the program and
// version of that call. A server may delete contexts at any time. Then the next call makes another
// one and is sent again.
type Carrier struct {
	carrier oncrpc.Carrier
	mech    Initiator
	service Service

	mu      sync.Mutex
	current *association
	ended   []*association // without sequence numbers, for Close
	making  *making
	closed  bool
	closing bool // Close waits for the context in the making
}

// making is the work of one call that makes a context for all calls.
type making struct {
	done chan struct{} // closed at the end
	err  error
}

// association is a context with the server. The mutex of the Carrier guards it.
type association struct {
	mech          Context
	info          Info
	handle        []byte
	prog, vers    uint32 // for RPCSEC_GSS_DESTROY
	numbers       *numbers
	users         int           // calls that have acquired it
	unused        chan struct{} // closed when users is 0, if Close waits for that
	held          bool          // by the Carrier, until Close destroys it at the server
	knownToServer bool
}

// NewCarrier returns a Carrier over c that authenticates with mech. It sends nothing before the
// first call. cfg may be nil. The caller must Close the Carrier, before c.
func NewCarrier(c oncrpc.Carrier, mech Initiator, cfg *CarrierConfig) (*Carrier, error) {
	g := &Carrier{carrier: c, mech: mech, service: Integrity}
	if cfg != nil && cfg.Service != 0 {
		g.service = cfg.Service
	}
	if !g.service.Valid() {
		return nil, fmt.Errorf("gss: CarrierConfig.Service is %d, must be None (1), Integrity (2) or Privacy (3)", cfg.Service)
	}
	return g, nil
}

// Service returns the protection that calls have.
func (c *Carrier) Service() Service { return c.service }

// XID implements oncrpc.Carrier.
func (c *Carrier) XID() uint32 { return c.carrier.XID() }

// mostRefreshes is the number of further contexts that are made for a call that the server refuses
// because of its context.
const mostRefreshes = 2

// Call implements oncrpc.Carrier. The credential and verifier of the call must be AUTH_NONE. With
// Integrity or Privacy the results do not come in Call.Results but in the message, and are copied
// at least once (RFC 8166 §8.2.2.3). A reply without a right checksum fails the call with
// oncrpc.ErrVerf, and results that are not protected with ErrBody. Denials have no checksum: a
// network that can be written to can forge them (RFC 2203 §5.3.3.3).
func (c *Carrier) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if err := oncrpc.CheckCall(call); err != nil {
		return nil, err
	}
	xid := call.XID()
	if err := checkPlain(&call.Message); err != nil {
		return nil, &oncrpc.CallError{XID: xid, Err: err}
	}
	x := exchange{call: call, plain: *call}
	defer x.restore()
	prog, vers, _, _ := oncrpc.Procedure(call.Inline)
	for refreshes := 0; ; {
		a, err := c.acquire(ctx, prog, vers)
		if err != nil {
			return nil, &oncrpc.CallError{XID: xid, MayHaveRun: x.mayHaveRun, Err: err}
		}
		reply, problem, err := x.do(ctx, c, a)
		again := problem && refreshes < mostRefreshes || errors.Is(err, errExhausted)
		if again {
			c.retire(a, !problem)
		}
		if problem {
			refreshes++
		}
		c.release(a)
		switch {
		case again:
		case err == nil && problem && x.mayHaveRun:
			return nil, &oncrpc.CallError{XID: xid, MayHaveRun: true, Err: oncrpc.Refused(x.refusal)}
		default:
			return reply, err
		}
	}
}

// checkPlain returns an error unless the credential and verifier of a call are AUTH_NONE.
func checkPlain(m *oncrpc.Message) error {
	if len(m.Inline) < callHead || len(m.Items) > 0 && m.Items[0].Inline < callHead {
		return fmt.Errorf("%w: shorter than the header of a call, %d bytes (RFC 5531 §9)", oncrpc.ErrMessage, callHead)
	}
	for _, b := range m.Inline[callStart:callHead] {
		if b != 0 {
			return fmt.Errorf("%w: a call through a gss.Carrier must have the credential and verifier AUTH_NONE: the Carrier has the credential", oncrpc.ErrMessage)
		}
	}
	return nil
}

// acquire returns the context, and makes one if necessary. The caller must release it.
func (c *Carrier) acquire(ctx context.Context, prog, vers uint32) (*association, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, oncrpc.ErrClosed
		}
		if a := c.current; a != nil {
			a.users++
			c.mu.Unlock()
			return a, nil
		}
		m := c.making
		if m == nil {
			m = &making{done: make(chan struct{})}
			c.making = m
			c.mu.Unlock()
			return c.make(ctx, m, prog, vers)
		}
		c.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// If the other call was cancelled, this one makes the context.
		if m.err != nil && !errors.Is(m.err, context.Canceled) && !errors.Is(m.err, context.DeadlineExceeded) {
			return nil, m.err
		}
	}
}

// make makes a context for all calls.
func (c *Carrier) make(ctx context.Context, m *making, prog, vers uint32) (*association, error) {
	a, err := c.establish(ctx, prog, vers)
	c.mu.Lock()
	c.making, m.err = nil, err
	close(m.done)
	if err == nil {
		a.users = 1
		if !c.closed || c.closing {
			a.held, c.current = true, a
		}
	}
	c.mu.Unlock()
	return a, err
}

// retire makes further calls use another context. If the server knows the old one, Close destroys
// it.
func (c *Carrier) retire(a *association, knownToServer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.knownToServer = a.knownToServer && knownToServer
	if c.current != a {
		return
	}
	c.current = nil
	if a.held = knownToServer; knownToServer {
		c.ended = append(c.ended, a)
	}
}

// release is called when a call no longer uses a context. The last user deletes it on this side,
// unless the Carrier holds it. A call does not destroy it at the server: it would wait for another
// reply.
func (c *Carrier) release(a *association) {
	c.mu.Lock()
	a.users--
	if a.users == 0 && a.unused != nil {
		close(a.unused)
	}
	last := a.users == 0 && !a.held
	c.mu.Unlock()
	if last {
		a.mech.Delete()
	}
}

// Close waits for the calls in progress, and deletes the context here and by a call at the server
// (RFC 2203 §5.4). ctx sets the time for both. Further calls fail with oncrpc.ErrClosed. If ctx is
// done first, the calls in progress continue, and the last one deletes the context on this side.
// The error is the reason why the server may still have the context. It deletes unused ones after a
// time.
func (c *Carrier) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed, c.closing = true, true
	m := c.making
	c.mu.Unlock()
	var errs []error
	if m != nil {
		select {
		case <-m.done:
		case <-ctx.Done():
			errs = append(errs, inUse(ctx))
		}
	}
	c.mu.Lock()
	c.closing = false
	ended := c.ended
	if c.current != nil {
		ended = append(ended, c.current)
	}
	c.current, c.ended = nil, nil
	for _, a := range ended {
		if a.unused = make(chan struct{}); a.users == 0 {
			close(a.unused)
		}
	}
	c.mu.Unlock()
	for _, a := range ended {
		errs = append(errs, c.finish(ctx, a))
	}
	return errors.Join(errs...)
}

// inUse is the error for a context that Close does not destroy.
func inUse(ctx context.Context) error {
	return fmt.Errorf("gss: no RPCSEC_GSS_DESTROY while calls are in progress: %w", ctx.Err())
}

// finish destroys a context that the Carrier holds, when no call uses it.
func (c *Carrier) finish(ctx context.Context, a *association) (err error) {
	select {
	case <-a.unused:
		if a.knownToServer { // no call can change it any more
			err = c.destroy(ctx, a)
		}
	case <-ctx.Done():
		err = inUse(ctx)
	}
	c.mu.Lock()
	a.held = false
	last := a.users == 0
	c.mu.Unlock()
	if last {
		a.mech.Delete()
	}
	return err
}

// destroy deletes a context without users at the server.
func (c *Carrier) destroy(ctx context.Context, a *association) error {
	var start [callStart]byte
	for i, w := range []uint32{c.carrier.XID(), uint32(oncrpc.MsgCall), oncrpc.Version, a.prog, a.vers, 0} {
		binary.BigEndian.PutUint32(start[4*i:], w)
	}
	// Its arguments and results are void, so the service None has nothing to protect.
	cred := CredV1{Proc: ProcDestroy, Seq: a.numbers.final(), Service: None, Handle: a.handle}
	b := appendCred(nil, start[:], &cred)
	b, err := appendVerf(b, a.mech, b)
	if err != nil {
		return fmt.Errorf("gss: RPCSEC_GSS_DESTROY: %w", err)
	}
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: b}, Renew: func(context.Context) (oncrpc.Message, error) {
		return oncrpc.Message{}, errors.New("gss: RPCSEC_GSS_DESTROY is not sent again")
	}}
	reply, err := c.carrier.Call(ctx, call)
	if err != nil {
		return fmt.Errorf("gss: RPCSEC_GSS_DESTROY: %w", err)
	}
	var head oncrpc.Header
	if _, err := decode(reply.Message, &head); err != nil {
		return fmt.Errorf("gss: reply to RPCSEC_GSS_DESTROY: %w", err)
	}
	return oncrpc.CheckReply(&head, call.XID())
}
