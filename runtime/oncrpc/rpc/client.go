package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ClientConfig configures NewClient. A nil *ClientConfig has the default in every field.
type ClientConfig struct {
	// Cred is the credential of all calls. If zero, the default is AUTH_NONE.
	// oncrpc.AuthSysParms.Auth makes one of AUTH_SYS.
	Cred oncrpc.OpaqueAuth

	// CheckVerf checks the verifier of each accepted reply. If it returns an error, the call fails
	// with it. If nil, the default is oncrpc.CheckVerf.
	CheckVerf func(cred, verf *oncrpc.OpaqueAuth) error

	// Program is the program's number, where it is chosen at run time (RFC 5531 §13.3.3): for
	// example, a client of NFS version 4 chooses the number of its callback program. If zero, the
	// default is the number in the interface.
	Program uint32

	// MaxReply is the size limit of a reply without Options.ReplyBuf, in bytes, RPC header
	// included. If zero, the default is 512 KiB, or 16 MiB for results whose size is bounded by
	// their type or by CallAtMost. If negative, such a reply must fit inline.
	//
	// Over RDMA, a call whose results may not fit inline offers the server a reply chunk in memory
	// of the connection. Its size is the bound of the results, but at most MaxReply. A connection
	// thus uses up to Config.Credits times that, and as much again for cancelled calls that the
	// server has not answered; over hardware, at most rdmaio.Config.MaxReplyMemory and as much
	// again. Calls whose results always fit inline, and calls with Options.Results, offer none.
	MaxReply int

	// Idempotent reports whether a procedure may be executed twice without harm. If nil, the
	// procedures in Program.Idempotent may, which generated clients take from the sidecar's lines
	// "once". For such a procedure, a connection over RDMA hardware offers memory for the largest
	// reply so far, not for MaxReply, and sends a call again whose reply is longer.
	Idempotent func(procedure uint32) bool

	// Interceptors run around each call, the first outermost.
	Interceptors []ClientInterceptor

	// Events is called at the end of each call. It must not block.
	Events func(*Called)
}

// The defaults of ClientConfig.MaxReply.
const (
	defaultMaxReply   = 512 << 10
	defaultMaxBounded = oncrpc.DefaultMaxMessage
)

// Options are the options of one call.
type Options struct {
	// Results is memory for the eligible results (Program.Bindings), in their order. Each slice
	// must be as long as the longest result that may come. The decoded values point into them: the
	// server writes the results there by RDMA, or they are copied from the message. A result with
	// an empty slice, or without a slice, comes inline and has its own memory.
	Results [][]byte

	// ReplyBuf is memory for the reply without Results. It includes the RPC header of ReplyHead
	// bytes, or more if the server's verifier has a body. The decoded values point into it. If nil,
	// decoded values have their own memory, and the size of the reply is limited by
	// ClientConfig.MaxReply; with Results the reply must fit inline.
	ReplyBuf []byte

	// Cred is the credential of this call. If nil, the default is ClientConfig.Cred.
	Cred *oncrpc.OpaqueAuth

	// Deadline is the time at which a call of Client.Submit fails with context.DeadlineExceeded. If
	// zero, only its context limits its time. Client.Call ignores it.
	Deadline time.Time
}

// ReplyHead is the size in bytes of an RPC reply's header if the verifier has no body (RFC 5531
// §9).
const ReplyHead = 24

// Client calls the procedures of one program version. Its methods may be called concurrently.
type Client struct {
	carrier    oncrpc.Carrier
	program    oncrpc.Program
	cfg        ClientConfig
	maxBounded int // cfg.MaxReply of results with a bound
	traits     map[uint32]traits
	calls      sync.Pool // of *pooledCall
}

// traits describe a procedure: the places of its arguments and results that are eligible for RDMA,
// and whether it may be executed twice (Program.Idempotent).
type traits struct {
	args, results []xdr.Site
	idempotent    bool
}

// NewClient returns a Client of a program over a carrier, which the Client does not close. cfg may
// be nil.
func NewClient(t oncrpc.Carrier, p oncrpc.Program, cfg *ClientConfig) *Client {
	c := &Client{carrier: t, program: p, traits: make(map[uint32]traits)}
	if cfg != nil {
		c.cfg = *cfg
	}
	if c.cfg.CheckVerf == nil {
		c.cfg.CheckVerf = oncrpc.CheckVerf
	}
	c.maxBounded = c.cfg.MaxReply
	if c.cfg.MaxReply == 0 {
		c.cfg.MaxReply, c.maxBounded = defaultMaxReply, defaultMaxBounded
	}
	for _, b := range p.Bindings {
		c.traits[b.Procedure] = traits{args: p.Sites(b.Procedure, false), results: p.Sites(b.Procedure, true)}
	}
	for _, proc := range p.Idempotent {
		t := c.traits[proc]
		t.idempotent = true
		c.traits[proc] = t
	}
	if c.cfg.Program != 0 {
		c.program.Number = c.cfg.Program
	}
	c.calls.New = c.newPooledCall
	return c
}

// Call calls a procedure with args and decodes its results. Either may be nil, for void; so may
// opt. Call blocks until the reply has come or ctx is done. The rules of oncrpc.Carrier hold for
// all memory passed here. The error is an *Error.
func (c *Client) Call(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options) error {
	return c.call(ctx, proc, args, results, opt, c.maxReply(results))
}

// CallAtMost is Call for results of at most size bytes, including those in Options.Results.
// Generated clients use it where an argument bounds the results: the count of a READ does. Over
// RDMA the server refuses larger results that do not fit inline.
func (c *Client) CallAtMost(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, size uint64) error {
	return c.call(ctx, proc, args, results, opt, c.bounded(size))
}

// call is Call with the size of the largest reply.
func (c *Client) call(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, most bound) error {
	// invoke returns the error of checkValues
	if len(c.cfg.Interceptors) == 0 || checkValues(args, results) != nil {
		return c.invoke(ctx, proc, args, results, opt, most)
	}
	return c.around(ctx, 0, &Invocation{&c.program, proc, orVoid(args), orVoid(results), opt, most})
}

// orVoid returns v, or Void for nil.
func orVoid(v xdr.Value) xdr.Value {
	if v == nil {
		return new(oncrpc.Void)
	}
	return v
}

// checkValues returns an error if the arguments or the results of a call are a nil pointer, whose
// methods would panic.
func checkValues(args, results xdr.Value) error {
	for _, v := range [...]struct {
		what  string
		value xdr.Value
	}{{"arguments", args}, {"results", results}} {
		if v.value == nil {
			continue
		}
		if p := reflect.ValueOf(v.value); p.Kind() == reflect.Pointer && p.IsNil() {
			return fmt.Errorf("%w: the %s are a nil %T", ErrNilValue, v.what, v.value)
		}
	}
	return nil
}

// invoke makes one call.
func (c *Client) invoke(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, most bound) error {
	p := c.newCall(proc, results)
	ran, err := false, p.prepare(args, opt, most)
	if err == nil {
		ran, err = p.conclude(c.carrier.Call(ctx, &p.call))
	}
	return p.over(ran, err)
}

// explain adds what a caller needs to know about a refusal: the XID of a call whose reason is in
// the server's log, and what to set for a server that wants more security. A carrier of package gss
// may have added its own.
func (c *Client) explain(err error, cred *oncrpc.OpaqueAuth, xid uint32) error {
	var e *oncrpc.ReplyError
	switch {
	case errors.Is(err, oncrpc.ErrSystem):
		return fmt.Errorf("call 0x%08x: %w", xid, err)
	case !errors.As(err, &e) || !errors.Is(e, oncrpc.ErrAuth) || e.Auth != oncrpc.AuthStatTooWeak:
		return err
	}
	if secure, ok := c.carrier.(*gss.Carrier); ok && secure.Service() < gss.Privacy {
		return fmt.Errorf("%w: the call had %v, and the server may require more: gss.CarrierConfig.Service", err, secure.Service())
	} else if ok {
		return fmt.Errorf("%w: the call had %v, which is the most: the server may require TLS (Config.TLS of the connection)", err, secure.Service())
	}
	conn, known := c.carrier.(interface{ Peer() oncrpc.Peer })
	hint := "use package gss with the protection that the server requires"
	if cred.Flavor == oncrpc.AuthNone {
		hint = "ClientConfig.Cred is AUTH_NONE: set it, or " + hint
	}
	switch {
	case !known:
		hint = "the server may require TLS (Config.TLS of the connection); with TLS, " + hint
	case conn.Peer().TLS == nil:
		hint = "the connection has no TLS, which the server may require (Config.TLS); with TLS, " + hint
	}
	return fmt.Errorf("%w: %s", err, hint)
}

// largestHead is the largest size of a reply's header, with the longest body in the verifier (RFC
// 5531 §8.2).
const largestHead = ReplyHead + 400

// bound is the size limit of a reply.
type bound struct {
	offer int // oncrpc.Call.MaxReply
	whole int // oncrpc.Call.WholeReply: what its results are known to be, 0: unknown
}

// maxReply returns the bound of a call with these results.
func (c *Client) maxReply(results xdr.Value) bound {
	if results == nil {
		return c.bounded(0)
	}
	if r, ok := results.(interface{ XDRMaxSize() int }); ok {
		return c.bounded(uint64(r.XDRMaxSize()))
	}
	return bound{offer: c.cfg.MaxReply}
}

// bounded returns the bound for results of at most size bytes.
func (c *Client) bounded(size uint64) bound {
	whole := int64(min(size, math.MaxInt32)) + largestHead
	b := bound{offer: int(min(int64(c.maxBounded), whole))}
	if whole <= math.MaxInt32 {
		b.whole = int(whole)
	}
	return b
}
