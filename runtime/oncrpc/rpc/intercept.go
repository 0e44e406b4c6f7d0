package rpc

import (
	"context"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ServerInterceptor runs around a procedure. It is called with the decoded arguments and the empty
// results. next runs the procedure and returns its error; res then has the
// results. The returned error answers the call as an error of the procedure does. An interceptor
// that does not call next has answered in place of the procedure. It calls next at most once.
//
// args and res are pointers to the types of the procedure: the generated ones, types of package
// oncrpc for XDR's own (*oncrpc.Uint64 and so on), and *oncrpc.Void for none. Procedures of other
// programs and versions may have the same number, and procedures of one program the same type, so
// Request.Program and Procedure say which one it is. An interceptor that authorizes by argument
// must refuse in the default of its type switch: a procedure that is added later is then not open
// to all.
//
// For procedures of HandleAsync, next returns nil when the procedure has been started, and the
// results are not known. r, args and res must not be used after that, and an error has no effect.
type ServerInterceptor func(r *Request, args, res xdr.Value, next func() error) error

// run calls f inside the interceptors from number i on.
func (p *pooledRequest) run(i int, args, res xdr.Value, f func() error) error {
	all := p.handler.cfg.Interceptors
	if i == len(all) {
		return f()
	}
	return all[i](&p.Request, args, res, func() error { return p.run(i+1, args, res, f) })
}

// start starts f, which answers the call itself, inside the interceptors. If they do not call f,
// answer is called with their error.
func (p *pooledRequest) start(args, res xdr.Value, f func(), answer func(error)) {
	started := false
	err := p.run(0, args, res, func() error {
		started = true
		f()
		return nil
	})
	if !started {
		answer(err)
	}
}

// ClientInterceptor runs around a call. next makes it, with the fields of call as the interceptor
// left them, and returns its error; call.Results then has the results. next may be called again:
// that is another call, with another XID. If the interceptor returns another error, the caller gets
// it as it is.
type ClientInterceptor func(ctx context.Context, call *Invocation, next func(context.Context) error) error

// Invocation is a call as a ClientInterceptor sees it. It is valid until the interceptor returns.
type Invocation struct {
	Program       *oncrpc.Program // read only
	Procedure     uint32
	Args, Results xdr.Value // of the types that a ServerInterceptor sees: *oncrpc.Void for none
	Options       *Options  // or nil
	most          bound     // of the reply
}

// around makes a call inside the interceptors from number i on.
func (c *Client) around(ctx context.Context, i int, call *Invocation) error {
	if i == len(c.cfg.Interceptors) {
		return c.invoke(ctx, call.Procedure, call.Args, call.Results, call.Options, call.most)
	}
	return c.cfg.Interceptors[i](ctx, call, func(ctx context.Context) error { return c.around(ctx, i+1, call) })
}
