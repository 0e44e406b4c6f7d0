package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Transport carries calls: *rdmaio.Conn, *rdmaio.Client and *rdmaio.Backchannel do.
type Transport interface {
	// XID is one that no call in progress has.
	XID() uint32
	Call(ctx context.Context, call *rdmaio.Call) (*rdmaio.Reply, error)
}

// ClientConfig configures NewClient. nil is fine: a zero field is the default named with it.
type ClientConfig struct {
	// Cred is what the client shows of itself. Default: AUTH_NONE; oncrpc.AuthSysParms.Auth makes another one.
	Cred oncrpc.OpaqueAuth

	// CheckVerf looks at the verifier of each reply that was accepted; an error fails the call. Default: oncrpc.CheckVerf.
	CheckVerf func(cred, verf *oncrpc.OpaqueAuth) error

	// MaxReply is the size of the largest reply without Options.ReplyBuf, in bytes, header included. If zero, the default is
	// 512 KiB. If negative, such a reply has to come inline. A call whose results may be longer than what comes inline offers the
	// server a reply chunk in memory of the connection: as large as the results can be at most (their XDRMaxSize),
	// or MaxReply if that is less or they have no largest size. So a connection may use its Config.Credits times
	// MaxReply, and as much again for cancelled calls that the server has not answered. Calls whose results always fit inline, and those with Options.Results, offer none.
	MaxReply int
}

// defaultMaxReply is the default of ClientConfig.MaxReply.
const defaultMaxReply = 512 << 10

// Options are those of one call.
type Options struct {
	// Results is memory for the results that the binding makes eligible, in their order, each as large as the largest may be.
	// The server puts them there by RDMA, and decoded values are parts of it. An empty slice, or none, asks for that
	// result inline.
	Results [][]byte

	// ReplyBuf is memory for the reply with all other results, its header of ReplyHead bytes included (more if the server's
	// verifier has a body). Without it ClientConfig.MaxReply is the limit, and with Results what comes inline. Decoded values are
	// parts of it where it is given; else they have memory of their own.
	ReplyBuf []byte

	// Cred is for this call instead of ClientConfig.Cred.
	Cred *oncrpc.OpaqueAuth
}

// ReplyHead is the size of an RPC reply's header whose verifier has no body (RFC 5531 §9), bytes.
const ReplyHead = 24

// Client calls the procedures of one version of a program. It is for concurrent use.
type Client struct {
	transport Transport
	program   oncrpc.Program
	cfg       ClientConfig
	sites     map[uint32]eligible
	places    sync.Pool // of *callPlace
}

// eligible is what a binding says of a procedure.
type eligible struct{ args, results []xdr.Site }

// NewClient makes a Client over a transport, which stays the caller's to close. cfg may be nil.
func NewClient(t Transport, p oncrpc.Program, cfg *ClientConfig) *Client {
	c := &Client{transport: t, program: p, sites: make(map[uint32]eligible)}
	if cfg != nil {
		c.cfg = *cfg
	}
	if c.cfg.CheckVerf == nil {
		c.cfg.CheckVerf = oncrpc.CheckVerf
	}
	if c.cfg.MaxReply == 0 {
		c.cfg.MaxReply = defaultMaxReply
	}
	for _, b := range p.Bindings {
		c.sites[b.Procedure] = eligible{p.Sites(b.Procedure, false), p.Sites(b.Procedure, true)}
	}
	c.places.New = func() any {
		return &callPlace{
			copying: xdr.NewDecoder(nil, nil), aliasing: xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}),
			buf: make([]byte, 0, 512), reply: make([]byte, 512),
		}
	}
	return c
}

// callPlace is the memory of one call.
type callPlace struct {
	enc               xdr.Encoder
	copying, aliasing *xdr.Decoder
	buf, reply        []byte
	head              oncrpc.Message
	call              rdmaio.Call
}

// keepBytes is how large a buffer is worth keeping for another call.
const keepBytes = 64 << 10

// release leaves nothing of a call behind.
func (p *callPlace) release(c *Client) {
	if b := p.enc.Bytes(); cap(b) > cap(p.buf) && cap(b) <= keepBytes {
		p.buf = b[:0]
	}
	p.enc.Reset(nil)
	p.copying.Reset(nil)
	p.aliasing.Reset(nil)
	p.head = oncrpc.Message{}
	p.call.Message, p.call.Results, p.call.ReplyBuf, p.call.MaxReply = rdmaio.Message{}, nil, nil, 0
	c.places.Put(p)
}

// Call calls a procedure with args, and decodes its results; nil is void for both. It waits for the reply, or for the
// end of ctx, as rdmaio.Conn.Call does, whose rules hold for all memory named here. opt may be nil. The error is an *Error.
func (c *Client) Call(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options) error {
	p := c.places.Get().(*callPlace)
	defer p.release(c)
	ran, err := c.do(ctx, p, proc, args, results, opt)
	if err == nil {
		return nil
	}
	return &Error{
		Program: c.program.Number, Version: c.program.Version, Procedure: proc, Name: c.program.Describe(proc), MayHaveRun: ran, Err: err,
	}
}

// do makes the call; ran says whether the procedure may have run.
func (c *Client) do(ctx context.Context, p *callPlace, proc uint32, args, results xdr.Value, opt *Options) (ran bool, err error) {
	sites, cred, dec := c.sites[proc], &c.cfg.Cred, p.copying
	p.call.ReplyBuf, p.call.MaxReply = p.reply, c.maxReply(results)
	if opt != nil {
		if len(opt.Results) > 0 && len(sites.results) == 0 {
			return false, fmt.Errorf("%w: there is memory for %d results, but Program.Bindings make none of this procedure's eligible", ErrOptions, len(opt.Results))
		}
		if p.call.Results = opt.Results; len(opt.Results) > 0 {
			p.call.MaxReply = -1 // what may be long is elsewhere
		}
		if opt.ReplyBuf != nil {
			p.call.ReplyBuf, p.call.MaxReply, dec = opt.ReplyBuf, 0, p.aliasing
		}
		if opt.Cred != nil {
			cred = opt.Cred
		}
	}
	xid := c.transport.XID()
	if err := p.encode(c, xid, proc, cred, args, sites.args); err != nil {
		return false, err
	}
	reply, err := c.transport.Call(ctx, &p.call)
	if err != nil {
		var ce *rdmaio.CallError
		return !errors.As(err, &ce) || ce.MayHaveRun, err
	}
	if reply.Padding.Align != 0 {
		return true, ErrPadded
	}
	if n := cap(reply.Message); dec == p.copying && n > len(p.reply) && n <= keepBytes {
		p.reply = reply.Message[:n] // for a later call
	}
	dec.Reset(reply.Message)
	if err := p.head.DecodeXDR(dec); err != nil {
		return true, fmt.Errorf("header of the reply: %w", err)
	}
	if err := oncrpc.CheckReply(&p.head, xid); err != nil {
		return errors.Is(err, oncrpc.ErrSystem), err
	}
	if err := c.cfg.CheckVerf(cred, &p.head.Body.Reply.Accepted.Verf); err != nil {
		return true, err
	}
	dec.ReinsertInOrder(sites.results, reply.Items)
	if results != nil {
		err = results.DecodeXDR(dec)
	}
	if err = errors.Join(err, dec.Done()); err != nil {
		return true, fmt.Errorf("results: %w", err)
	}
	return true, nil
}

// largestHead is the size of the largest header of a reply: of a verifier with the longest body (RFC 5531 §8.2).
const largestHead = ReplyHead + 400

// maxReply returns the rdmaio.Call.MaxReply of a call with these results.
func (c *Client) maxReply(results xdr.Value) int {
	most := c.cfg.MaxReply
	if results == nil {
		return min(most, largestHead)
	}
	if r, ok := results.(interface{ XDRMaxSize() int }); ok {
		if n := r.XDRMaxSize(); n < most-largestHead {
			most = largestHead + n
		}
	}
	return most
}

// encode makes the message of a call.
func (p *callPlace) encode(c *Client, xid, proc uint32, cred *oncrpc.OpaqueAuth, args xdr.Value, sites []xdr.Site) error {
	p.head = oncrpc.Message{XID: xid}
	p.head.Body.Type = oncrpc.Call
	p.head.Body.Call = oncrpc.CallBody{RPCVers: oncrpc.Version, Prog: c.program.Number, Vers: c.program.Version, Proc: proc, Cred: *cred}
	p.enc.Reset(p.buf[:0])
	if err := p.head.EncodeXDR(&p.enc); err != nil {
		return fmt.Errorf("header of the call: %w", err)
	}
	p.enc.Reduce(xdr.Reduction{Sites: sites}, uint64(p.enc.Len()))
	if args != nil {
		if err := args.EncodeXDR(&p.enc); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
	}
	p.call.Message = rdmaio.Message{Inline: p.enc.Bytes(), Items: p.enc.Items()}
	return nil
}
