package rpc

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// pooledCall is one call, and its memory, which later calls reuse.
//
//	newCall ──> prepare ──> carrier ──> conclude ──> over
//	               └── error ──────────────────────> over
type pooledCall struct {
	client            *Client
	enc               xdr.Encoder
	copying, aliasing *xdr.Decoder
	buf, reply        []byte
	head              oncrpc.Header
	call              oncrpc.Call
	placed            []xdr.Item // for items
	received          int        // size of the reply

	procedure uint32
	traits    traits
	results   xdr.Value
	cred      *oncrpc.OpaqueAuth
	dec       *xdr.Decoder
	xid       uint32
	began     time.Time // for events

	// Of a call that was submitted.
	done     func(error)
	finished func(*oncrpc.Reply, error) // ended, bound once
}

// newPooledCall returns a pooledCall for Client.calls.
func (c *Client) newPooledCall() any {
	p := &pooledCall{
		client: c, copying: xdr.NewDecoder(nil, nil), aliasing: xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}),
		buf: make([]byte, 0, 512), reply: make([]byte, 512),
	}
	p.finished = p.ended
	return p
}

// newCall begins a call.
func (c *Client) newCall(proc uint32, results xdr.Value) *pooledCall {
	p := c.calls.Get().(*pooledCall)
	p.procedure, p.results = proc, results
	if c.cfg.Events != nil {
		p.began = time.Now()
	}
	return p
}

// keepBytes is the size of the largest buffer that is kept for a later call.
const keepBytes = 64 << 10

// release clears p and returns it to the pool.
func (p *pooledCall) release() {
	if b := p.enc.Bytes(); cap(b) > cap(p.buf) && cap(b) <= keepBytes {
		p.buf = b[:0]
	}
	p.enc.Reset(nil)
	p.copying.Reset(nil)
	p.aliasing.Reset(nil)
	p.head = oncrpc.Header{}
	p.received = 0
	clear(p.placed)
	p.call.Message, p.call.Results, p.call.ReplyBuf, p.call.Deadline = oncrpc.Message{}, nil, nil, time.Time{}
	p.call.MaxReply, p.call.WholeReply = 0, 0
	p.call.Renew = nil
	p.results, p.cred, p.dec, p.done = nil, nil, nil, nil
	p.client.calls.Put(p)
}

// prepare makes the message of the call.
func (p *pooledCall) prepare(args xdr.Value, opt *Options, most bound) error {
	c := p.client
	if err := checkValues(args, p.results); err != nil {
		return err
	}
	p.traits, p.cred, p.dec = c.traits[p.procedure], &c.cfg.Cred, p.copying
	p.call.ReplyBuf, p.call.MaxReply = p.reply, most.offer
	p.call.Idempotent = p.traits.idempotent
	if c.cfg.Idempotent != nil {
		p.call.Idempotent = c.cfg.Idempotent(p.procedure)
	}
	if opt != nil {
		if len(opt.Results) > 0 && len(p.traits.results) == 0 {
			return fmt.Errorf("%w: Results has memory for %d results, but Program.Bindings makes no result of this procedure eligible: use ReplyBuf, or set Bindings", ErrOptions, len(opt.Results))
		}
		if p.call.Results = opt.Results; len(opt.Results) > 0 {
			p.call.MaxReply = -1 // the long results go to opt.Results
			p.call.WholeReply = most.whole
			for _, memory := range opt.Results {
				if len(memory) > most.whole { // it leaves them out, or an interceptor asks for more
					p.call.WholeReply = 0
				}
			}
		}
		if opt.ReplyBuf != nil {
			p.call.ReplyBuf, p.call.MaxReply, p.dec = opt.ReplyBuf, 0, p.aliasing
			if p.call.WholeReply > len(opt.ReplyBuf) {
				p.call.WholeReply = 0 // there is no memory for it
			}
		}
		if opt.Cred != nil {
			p.cred = opt.Cred
		}
		p.call.Deadline = opt.Deadline
	}
	p.xid = c.carrier.XID()
	return p.encode(args)
}

// encode encodes the message of a call into p.call.
func (p *pooledCall) encode(args xdr.Value) error {
	program := &p.client.program
	p.head = oncrpc.Header{XID: p.xid}
	p.head.Body.Type = oncrpc.MsgCall
	p.head.Body.Call = oncrpc.CallBody{RPCVers: oncrpc.Version, Prog: program.Number, Vers: program.Version, Proc: p.procedure, Cred: *p.cred}
	p.enc.Reset(p.buf[:0])
	if err := p.head.EncodeXDR(&p.enc); err != nil {
		return fmt.Errorf("header of the call: %w", err)
	}
	p.enc.Reduce(xdr.Reduction{Sites: p.traits.args}, uint64(p.enc.Len()))
	if args != nil {
		if err := args.EncodeXDR(&p.enc); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	p.call.Message = oncrpc.Message{Inline: p.enc.Bytes(), Items: p.enc.Items()}
	return nil
}

// conclude takes what the carrier has returned, and decodes the results. If the call has failed,
// ran reports whether the procedure may have run.
func (p *pooledCall) conclude(reply *oncrpc.Reply, err error) (ran bool, _ error) {
	c := p.client
	if err != nil {
		var ce *oncrpc.CallError
		return !errors.As(err, &ce) || ce.MayHaveRun, err
	}
	p.received = size(reply.Message, reply.Items)
	if reply.Padding.Align != 0 {
		return true, ErrPadded
	}
	if n := cap(reply.Message); p.dec == p.copying && n > len(p.reply) && n <= keepBytes {
		p.reply = reply.Message[:n] // for a later call
	}
	p.dec.Reset(reply.Message)
	if err := p.head.DecodeXDR(p.dec); err != nil {
		return true, fmt.Errorf("header of the reply: %w", err)
	}
	if err := oncrpc.CheckReply(&p.head, p.xid); err != nil {
		return errors.Is(err, oncrpc.ErrSystem), c.explain(err, p.cred, p.xid)
	}
	if err := c.cfg.CheckVerf(p.cred, &p.head.Body.Reply.Accepted.Verf); err != nil {
		return true, err
	}
	p.dec.PlaceInOrder(p.traits.results, p.items(reply), p.call.Results)
	if p.results != nil {
		err = p.results.DecodeXDR(p.dec)
	}
	if err == nil {
		err = p.dec.Done()
	}
	if err != nil {
		return true, fmt.Errorf("results: %w", err)
	}
	return true, nil
}

// items returns the items of a reply, one for each of call.Results at least.
func (p *pooledCall) items(reply *oncrpc.Reply) []xdr.Item {
	missing := len(p.call.Results) - len(reply.Items)
	if missing <= 0 {
		return reply.Items
	}
	p.placed = append(append(p.placed[:0], reply.Items...), make([]xdr.Item, missing)...)
	return p.placed
}

// over reports the call to Events, and returns its error. p must not be used afterwards.
func (p *pooledCall) over(ran bool, err error) error {
	c := p.client
	var failed *Error
	if err != nil {
		failed = &Error{
			Program: c.program.Number, Version: c.program.Version, Procedure: p.procedure, Name: c.program.Describe(p.procedure), MayHaveRun: ran, Err: err,
		}
	}
	if c.cfg.Events != nil {
		c.cfg.Events(&Called{&c.program, p.procedure, failed, size(p.call.Inline, p.call.Items), p.received, time.Since(p.began)})
	}
	p.release()
	if failed == nil {
		return nil
	}
	return failed
}
