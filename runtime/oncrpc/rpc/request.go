package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Request describes a call to the procedure that serves it. It is valid as long as the arguments
// are.
type Request struct {
	rpc     *oncrpc.Request
	head    oncrpc.Header
	after   func(error)
	handler *Handler
	ctx     context.Context // with the time limit, if there is one
}

// Context returns a context that is done when the connection is closed and the call can no longer
// be answered, when the caller has given up (oncrpc.ErrCanceled), or after HandlerConfig.Timeout.
func (r *Request) Context() context.Context {
	if r.ctx != nil {
		return r.ctx
	}
	return r.rpc.Context()
}

// Conn returns the connection that the call came on. It can be used for calls in the other
// direction.
func (r *Request) Conn() oncrpc.Conn { return r.rpc.Conn() }

// Peer describes the host that made the call. The user is in the credential: see oncrpc.Peer.
func (r *Request) Peer() oncrpc.Peer { return r.rpc.Conn().Peer() }

// XID returns the transaction ID of the call.
func (r *Request) XID() uint32 { return r.head.XID }

// Program returns the numbers of the program and its version. A Handler may serve several, whose
// procedures have the same numbers.
func (r *Request) Program() (number, version uint32) {
	return r.head.Body.Call.Prog, r.head.Body.Call.Vers
}

// Procedure returns the number of the procedure.
func (r *Request) Procedure() uint32 { return r.head.Body.Call.Proc }

// Cred returns the credential of the call. To keep it, copy its body.
func (r *Request) Cred() *oncrpc.OpaqueAuth { return &r.head.Body.Call.Cred }

// Verf returns the verifier of the call. To keep it, copy its body.
func (r *Request) Verf() *oncrpc.OpaqueAuth { return &r.head.Body.Call.Verf }

// AuthSys decodes an AUTH_SYS credential into new memory. AUTH_SYS proves nothing: the caller can
// claim any user. If the credential is malformed or has another flavour, the procedure can return
// the error, and the caller gets AUTH_BADCRED or AUTH_TOOWEAK.
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

// Room returns the size limits of the results, in bytes: the length of the memory for each eligible
// result, in their order, and the size of the reply without those, its header of ReplyHead bytes
// included. If the results are larger, the caller gets an error. See oncrpc.Request.WriteChunks and
// ReplyRoom.
func (r *Request) Room() (results []int, reply int) { return r.rpc.Room() }

// AfterReply registers f, which is called once the transport no longer uses the memory that the
// results point to. err is nil if the reply was handed to the transport, or else says why not. f
// runs after the procedure, while r is still valid, and must not block. A later AfterReply replaces
// f.
func (r *Request) AfterReply(f func(err error)) { r.after = f }

// pooledRequest is the memory of one call at a server, reused by later calls.
type pooledRequest struct {
	Request
	proc   *procedure
	values interface {
		release(decoded int)
		dropResults()
	}
	dec     *xdr.Decoder
	memory  decoded // of dec
	enc     xdr.Encoder
	buf     []byte
	answer  oncrpc.Header
	done    func(error) // replyDone, bound once
	arrived time.Time   // for events
	cancel  func()      // of Request.ctx
	spoiled bool        // its procedure panicked
}

// serve runs the call if s has the procedure and allows the caller to call it.
func (p *pooledRequest) serve(s *Service) {
	proc := s.procedures[p.Procedure()]
	switch {
	case proc == nil:
		p.finish(&oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}, nil)
		return
	case !proc.null:
		if err := p.guard(func() error { return s.allow(&p.Request) }); err != nil {
			p.finish(err, nil)
			return
		}
	}
	p.proc = proc
	if limit := p.handler.cfg.Timeout; limit > 0 {
		p.ctx, p.cancel = context.WithTimeout(p.rpc.Context(), limit)
	}
	proc.serve(p)
}

// arguments decodes the arguments. Each read chunk must be one item of the arguments, from its
// start to its end (R53).
func (p *pooledRequest) arguments(args xdr.Value) error {
	p.dec.ExpectAt(uint64(p.dec.Offset()), p.rpc.Placed)
	err := args.DecodeXDR(p.dec)
	if err == nil {
		err = p.dec.Done()
	}
	if err == nil && p.rpc.Padding.Align != 0 {
		err = ErrPadded
	}
	switch {
	case err == nil:
		return nil
	case p.memory.refused:
		return fmt.Errorf("the server has no memory for the values of the arguments: %w", err)
	}
	return garbage(err)
}

// guard calls f, which runs code of the service, and returns its error. A panic of f becomes an
// error. If f exits its goroutine, guard answers the call and does not return.
func (p *pooledRequest) guard(f func() error) (err error) {
	returned := false
	defer func() {
		if !returned {
			v := recover()
			err = p.panicked(v)
			if v == nil {
				p.finish(err, nil)
			}
		}
	}()
	err = f()
	returned = true
	return err
}

// panicked returns the error of a call that panicked with v, or exited its goroutine if v is nil.
// What it has started may still use its memory, so no later call does.
func (p *pooledRequest) panicked(v any) error {
	p.spoiled = true
	return oncrpc.Panicked(v)
}

// garbage is the error of a call that cannot be decoded.
func garbage(err error) error {
	return errors.Join(&oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, err)
}

// finish answers the call with res, or with the refusal that err calls for. p must not be used
// afterwards.
func (p *pooledRequest) finish(err error, res xdr.Value) {
	if err == nil {
		if err = p.guard(func() error { return p.encode(res) }); err == nil {
			p.event(nil, nil)
			if len(p.enc.Items()) == 0 { // the reply has a copy, and may wait long
				p.values.dropResults()
			}
			p.send()
			return
		}
		err = fmt.Errorf("results: %w", err)
	}
	if errors.Is(err, ErrDrop) {
		p.enc.Reset(p.buf[:0])
		p.event(nil, err)
		p.rpc.Drop(p.done)
		return
	}
	refusal := &oncrpc.ReplyError{Accept: oncrpc.SystemErr}
	// An *Error is of a call that the procedure made: the refusal of another server is not ours.
	var other *Error
	if !errors.As(err, &other) {
		refusal = oncrpc.Refusal(err)
	}
	p.enc.Reset(p.buf[:0])
	if bad := refusal.Header(p.head.XID).EncodeXDR(&p.enc); bad != nil { // its fields are invalid
		refusal, err = &oncrpc.ReplyError{Accept: oncrpc.SystemErr}, errors.Join(bad, err)
		p.enc.Reset(p.buf[:0])
		_ = refusal.Header(p.head.XID).EncodeXDR(&p.enc) // cannot fail
	}
	if refusal.Accept == oncrpc.SystemErr {
		if p.handler.cfg.Failed != nil {
			p.handler.cfg.Failed(&p.Request, err)
		}
		p.rpc.Report(fmt.Errorf("%s: %w", p.Describe(), err))
	}
	p.event(refusal, err)
	p.send()
}

// Describe returns the names of the program and procedure, if known, and their numbers: see
// oncrpc.Program.Describe.
func (r *Request) Describe() string {
	call := &r.head.Body.Call
	program := &oncrpc.Program{Number: call.Prog, Version: call.Vers}
	for _, s := range r.handler.services[call.Prog] {
		if s.program.Version == call.Vers {
			program = &s.program
		}
	}
	return program.Describe(call.Proc)
}

// encode encodes the reply with the results into p.enc.
func (p *pooledRequest) encode(res xdr.Value) error {
	p.enc.Reset(p.buf[:0])
	p.answer = oncrpc.Header{XID: p.head.XID}
	p.answer.Body.Type = oncrpc.MsgReply
	if err := p.answer.EncodeXDR(&p.enc); err != nil {
		return err
	}
	head := len(p.enc.Bytes())
	p.enc.Reduce(xdr.Reduction{Sites: p.proc.sites}, uint64(head))
	if err := res.EncodeXDR(&p.enc); err != nil || p.proc.most == 0 {
		return err
	}
	n := len(p.enc.Bytes()) - head
	for _, item := range p.enc.Items() {
		n += len(item.Data)
	}
	if n > p.proc.most {
		return fmt.Errorf("%d bytes, Service.MaxReply is %d", n, p.proc.most)
	}
	return nil
}

func (p *pooledRequest) send() {
	p.rpc.Reply(oncrpc.Message{Inline: p.enc.Bytes(), Items: p.enc.Items()}, p.done)
}

// replyDone is called by the transport when it no longer uses the memory of the reply.
func (p *pooledRequest) replyDone(err error) {
	if err != nil && p.handler.cfg.Failed != nil {
		p.handler.cfg.Failed(&p.Request, err)
	}
	if p.after != nil {
		p.after(err)
	}
	p.release()
}

// release clears p and returns it to the pool.
func (p *pooledRequest) release() {
	if p.spoiled {
		if p.cancel != nil {
			p.cancel()
		}
		return
	}
	if p.values != nil {
		p.values.release(p.memory.taken)
	}
	if b := p.enc.Bytes(); cap(b) > cap(p.buf) && cap(b) <= keepBytes {
		p.buf = b[:0]
	}
	p.enc.Reset(nil)
	p.dec.Reset(nil)
	if p.memory.taken > keepBytes {
		p.dec = p.memory.decoder() // the old one keeps memory for values
	}
	p.memory.reset()
	if p.cancel != nil {
		p.cancel()
		p.cancel = nil
	}
	p.Request = Request{handler: p.handler}
	p.proc, p.values = nil, nil
	p.handler.requests.Put(p)
}
