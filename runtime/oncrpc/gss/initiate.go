package gss

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// errAgain reports that the connection was lost while a context was made. A mechanism may take a
// token that comes twice for a replay, so nothing of the establishment is sent again.
var errAgain = errors.New("gss: the connection was lost while a context was made")

// mostAttempts is the number of establishments that are begun for a context because connections are
// lost.
const mostAttempts = 3

// establish makes a context (RFC 2203 §5.2).
func (c *Carrier) establish(ctx context.Context, prog, vers uint32) (*association, error) {
	for attempt := 1; ; attempt++ {
		e := establishment{carrier: c, prog: prog, vers: vers}
		a, err := e.run(ctx)
		if err == nil {
			return a, nil
		}
		if e.mech != nil {
			e.mech.Delete()
		}
		if !errors.Is(err, errAgain) || attempt == mostAttempts {
			return nil, fmt.Errorf("gss: no context with the server: %w", err)
		}
	}
}

// establishment is a context in the making.
type establishment struct {
	carrier    *Carrier
	prog, vers uint32
	mech       Context
	complete   bool // on this side
	token      []byte
	handle     []byte
}

// step passes a token of the server to the mechanism.
func (e *establishment) step(ctx context.Context, token []byte) error {
	step, err := e.carrier.mech.InitSecContext(ctx, e.mech, token)
	if step.Context != nil {
		e.mech = step.Context
	}
	if err != nil {
		return fmt.Errorf("GSS_Init_sec_context: %w", err)
	}
	if e.mech == nil {
		return errors.New("GSS_Init_sec_context: neither a context nor an error")
	}
	e.complete, e.token = step.Complete, step.Token
	return nil
}

// run exchanges tokens until both sides are complete.
func (e *establishment) run(ctx context.Context) (*association, error) {
	if err := e.step(ctx, nil); err != nil {
		return nil, err
	}
	proc := ProcInit
	for range maxSteps {
		if len(e.token) == 0 {
			return nil, errors.New("the server waits for a token, and the mechanism has none (RFC 2203 §5.2.2)")
		}
		res, verf, err := e.request(ctx, proc)
		if err != nil {
			return nil, err
		}
		switch {
		case res.Major != StatusComplete && res.Major != StatusContinueNeeded:
			return nil, &StatusError{Major: res.Major, Minor: res.Minor, Err: errors.New("GSS_Accept_sec_context failed at the server")}
		case len(res.Handle) == 0 || len(res.Handle) > mostAuth-20:
			return nil, fmt.Errorf("the server's handle has %d bytes, expected 1 to %d (RFC 2203 §5.2.3.1)", len(res.Handle), mostAuth-20)
		case e.handle != nil && !bytes.Equal(e.handle, res.Handle):
			return nil, errors.New("the server changed the handle (RFC 2203 §5.2.2)")
		case len(res.Token) > maxToken:
			return nil, fmt.Errorf("the server's token has %d bytes, at most %d are taken", len(res.Token), maxToken)
		}
		e.handle, e.token = bytes.Clone(res.Handle), nil
		if !e.complete {
			if err := e.step(ctx, res.Token); err != nil {
				return nil, err
			}
		} else if len(res.Token) > 0 || res.Major == StatusContinueNeeded {
			return nil, errors.New("the server's mechanism goes on after that of the client was complete (RFC 2203 §5.2.3.1.1)")
		}
		if res.Major == StatusComplete {
			return e.finish(&res, verf)
		}
		proc = ProcContinueInit
	}
	return nil, fmt.Errorf("the context was not complete after %d tokens", maxSteps)
}

// finish checks the last response (RFC 2203 §5.2.3.1).
func (e *establishment) finish(res *InitRes, verf *oncrpc.OpaqueAuth) (*association, error) {
	switch {
	case !e.complete || len(e.token) > 0:
		return nil, errors.New("the server is complete, and the mechanism of the client is not (RFC 2203 §5.2.3.1.1)")
	case res.SeqWindow == 0:
		return nil, errors.New("the server's sequence window is 0 (RFC 2203 §5.2.3.1)")
	case verf.Flavor != oncrpc.RPCSecGSS:
		return nil, fmt.Errorf("%w: flavour %v, expected %v (RFC 2203 §5.2.3.1)", oncrpc.ErrVerf, verf.Flavor, oncrpc.RPCSecGSS)
	}
	if err := e.mech.VerifyMIC(seqBytes(res.SeqWindow), verf.Body); err != nil {
		return nil, fmt.Errorf("%w: it is no checksum of the sequence window (RFC 2203 §5.2.3.1): %w", oncrpc.ErrVerf, err)
	}
	return &association{
		mech: e.mech, info: e.mech.Inquire(), handle: e.handle, prog: e.prog, vers: e.vers,
		numbers: newNumbers(res.SeqWindow), knownToServer: true,
	}, nil
}

// request sends a token and returns the response.
func (e *establishment) request(ctx context.Context, proc Proc) (res InitRes, verf *oncrpc.OpaqueAuth, err error) {
	if len(e.token) > maxToken {
		return res, nil, fmt.Errorf("the mechanism's token has %d bytes, at most %d are sent", len(e.token), maxToken)
	}
	xid := e.carrier.carrier.XID()
	var start [callStart]byte
	for i, w := range []uint32{xid, uint32(oncrpc.MsgCall), oncrpc.Version, e.prog, e.vers, 0} {
		binary.BigEndian.PutUint32(start[4*i:], w)
	}
	b := appendNone(appendCred(nil, start[:], &CredV1{Proc: proc, Service: e.carrier.service, Handle: e.handle}))
	if b, err = (&InitArg{Token: e.token}).AppendBinary(b); err != nil {
		return res, nil, err
	}
	call := &oncrpc.Call{
		Message: oncrpc.Message{Inline: b}, MaxReply: replyHead + mostAuth + InitResMinSize + mostAuth + maxToken,
		Renew: func(context.Context) (oncrpc.Message, error) { return oncrpc.Message{}, errAgain },
	}
	reply, err := e.carrier.carrier.Call(ctx, call)
	if err != nil {
		return res, nil, fmt.Errorf("%v: %w", proc, err)
	}
	var head oncrpc.Header
	size, err := decode(reply.Message, &head)
	if err != nil {
		return res, nil, fmt.Errorf("header of the reply to %v: %w", proc, err)
	}
	var refused *oncrpc.ReplyError
	if err := oncrpc.CheckReply(&head, xid); errors.Is(err, oncrpc.ErrGarbageArgs) {
		return res, nil, fmt.Errorf("%v: %w: %s", proc, err, plainServer)
	} else if errors.As(err, &refused) && refused.Auth == oncrpc.AuthStatRejectedCred {
		return res, nil, fmt.Errorf("%v: %w: a server without version 1 of RPCSEC_GSS answers so (RFC 2203 §5.2.3.2)", proc, err)
	} else if err != nil {
		return res, nil, fmt.Errorf("%v: %w", proc, err)
	}
	if size == len(reply.Message) {
		return res, nil, fmt.Errorf("%v: the reply has no results: %s", proc, plainServer)
	}
	if err := decodeAll(reply.Message[size:], &res); err != nil {
		return res, nil, fmt.Errorf("rpc_gss_init_res (RFC 2203 §5.2.3.1): %w", err)
	}
	return res, &head.Body.Reply.Accepted.Verf, nil
}

// plainServer explains answers to requests for a context, which are calls of procedure 0 with
// arguments (RFC 2203 §5.2.2).
const plainServer = "a server without RPCSEC_GSS answers so, since a request for a context is a call of procedure 0"
