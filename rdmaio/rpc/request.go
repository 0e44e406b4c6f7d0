package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Request is what a procedure can know of a call besides its arguments. It may be used as long as those.
type Request struct {
	rpc   *rdmaio.Request
	head  oncrpc.Message
	after func(error)
}

// Context ends with the connection: there is nobody left to answer.
func (r *Request) Context() context.Context { return r.rpc.Context() }

// Conn is the connection that the call came on, for calls in the other direction.
func (r *Request) Conn() *rdmaio.Conn { return r.rpc.Conn() }

// XID is the call's.
func (r *Request) XID() uint32 { return r.head.XID }

// Procedure is its number.
func (r *Request) Procedure() uint32 { return r.head.Body.Call.Proc }

// Cred and Verf are what the caller shows of itself. To keep them, copy their bodies.
func (r *Request) Cred() *oncrpc.OpaqueAuth { return &r.head.Body.Call.Cred }

// Verf is the call's verifier.
func (r *Request) Verf() *oncrpc.OpaqueAuth { return &r.head.Body.Call.Verf }

// AuthSys decodes an AUTH_SYS credential, into memory of its own. Nothing in it is proved. The error of one that
// is malformed, or of another flavour, may be returned by the procedure: the caller is told AUTH_BADCRED or AUTH_TOOWEAK.
func (r *Request) AuthSys() (*oncrpc.AuthSysParms, error) {
	p, err := oncrpc.ParseAuthSys(r.Cred())
	switch {
	case err == nil:
		return p, nil
	case r.Cred().Flavor != oncrpc.AuthSys:
		return nil, errors.Join(oncrpc.Refused(oncrpc.AuthStatTooWeak), err)
	}
	return nil, errors.Join(oncrpc.Refused(oncrpc.AuthStatBadCred), err)
}

// Room tells how large results may be: what is there for each eligible one, in their order, and how large the reply may be without them,
// its header of ReplyHead bytes included. Larger replies cost the caller an error. See rdmaio.Request.
func (r *Request) Room() (results []int, reply int) { return r.rpc.Places(), r.rpc.ReplyRoom() }

// AfterReply has f called once the memory that the results point to is not sent from any more: with nil when the
// reply was handed over, or the reason why not. f must not wait, and it runs after the procedure, with r still valid.
func (r *Request) AfterReply(f func(error)) { r.after = f }

// place is the memory of one call at a server.
type place struct {
	Request
	handler *Handler
	proc    *procedure
	values  interface{ release() }
	dec     *xdr.Decoder
	enc     xdr.Encoder
	buf     []byte
	answer  oncrpc.Message
	done    func(error) // over, bound once
}

// serve runs a call of a service.
func (p *place) serve(s *Service) {
	proc := s.procedures[p.Procedure()]
	switch {
	case proc == nil:
		p.finish(&oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}, nil)
		return
	case p.Procedure() != 0:
		if err := s.allow(&p.Request); err != nil {
			p.finish(err, nil)
			return
		}
	}
	p.proc = proc
	proc.serve(p)
}

// arguments decodes them; if that fails the call is answered, and false returned. What came by chunk must be an item
// that begins in them, of that length (R53).
func (p *place) arguments(args xdr.Value) bool {
	p.dec.ExpectAt(uint64(p.dec.Offset()), p.rpc.Placed)
	err := args.DecodeXDR(p.dec)
	if err == nil {
		err = p.dec.Done()
	}
	if err == nil && p.rpc.Padding.Align == 0 {
		return true
	}
	p.finish(&oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, nil)
	return false
}

// finish answers; p must not be used afterwards.
func (p *place) finish(err error, res xdr.Value) {
	if err == nil {
		if err = p.encode(res); err == nil {
			p.send()
			return
		}
		err = fmt.Errorf("results: %w", err)
	}
	if errors.Is(err, ErrDrop) {
		p.rpc.Drop(p.done)
		return
	}
	refusal := &oncrpc.ReplyError{Accept: oncrpc.SystemErr}
	var other *Error // of a call that the procedure made: what another server refused says nothing of this one
	if !errors.As(err, &other) {
		refusal = oncrpc.Refusal(err)
	}
	p.enc.Reset(p.buf[:0])
	if bad := refusal.Message(p.head.XID).EncodeXDR(&p.enc); bad != nil { // the procedure made one that there is not
		refusal, err = &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, errors.Join(bad, err)
		p.enc.Reset(p.buf[:0])
		_ = refusal.Message(p.head.XID).EncodeXDR(&p.enc) // of six words
	}
	if refusal.Accept == oncrpc.SystemErr {
		if p.handler.cfg.Failed != nil {
			p.handler.cfg.Failed(&p.Request, err)
		}
		p.rpc.Report(fmt.Errorf("%s: %w", p.describe(), err))
	}
	p.send()
}

// describe returns the procedure in words.
func (p *place) describe() string {
	call := &p.head.Body.Call
	program := &oncrpc.Program{Number: call.Prog, Version: call.Vers}
	for _, s := range p.handler.services[call.Prog] {
		if s.program.Version == call.Vers {
			program = &s.program
		}
	}
	return program.Describe(call.Proc)
}

// encode makes the reply with the results.
func (p *place) encode(res xdr.Value) error {
	p.enc.Reset(p.buf[:0])
	p.answer = oncrpc.Message{XID: p.head.XID}
	p.answer.Body.Type = oncrpc.Reply
	if err := p.answer.EncodeXDR(&p.enc); err != nil {
		return err
	}
	p.enc.Reduce(xdr.Reduction{Sites: p.proc.sites}, uint64(p.enc.Len()))
	return res.EncodeXDR(&p.enc)
}

func (p *place) send() {
	p.rpc.Reply(rdmaio.Message{Inline: p.enc.Bytes(), Items: p.enc.Items()}, p.done)
}

// over is what the transport calls when it is done with the memory of a reply.
func (p *place) over(err error) {
	if err != nil && p.handler.cfg.Failed != nil {
		p.handler.cfg.Failed(&p.Request, err)
	}
	if p.after != nil {
		p.after(err)
	}
	p.release()
}

// release lets another call have the place.
func (p *place) release() {
	if p.values != nil {
		p.values.release()
	}
	if b := p.enc.Bytes(); cap(b) > cap(p.buf) && cap(b) <= keepBytes {
		p.buf = b[:0]
	}
	p.enc.Reset(nil)
	p.dec.Reset(nil)
	p.Request = Request{}
	p.proc, p.values = nil, nil
	p.handler.places.Put(p)
}
