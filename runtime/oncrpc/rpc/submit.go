package rpc

import (
	"context"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Submit begins a call as Call does, and does not wait for its results. If it returns an error,
// which is an *Error, the call did not begin and done is never called. Otherwise done is called
// once, with nil or an *Error, maybe before Submit returns. All memory passed here belongs to the
// Client until then. The call fails when ctx is done, and at opt.Deadline.
//
// done runs where oncrpc.Submitter says, and its rules apply: it must not block, and may submit
// calls, which leave together. A call allocates memory only for its results. If the Client has
// Interceptors, or its carrier is not an oncrpc.Submitter, each call has a goroutine, on which done
// runs.
func (c *Client) Submit(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, done func(error)) error {
	return c.submit(ctx, proc, args, results, opt, c.maxReply(results), done)
}

// SubmitAtMost is Submit for results of at most size bytes, as CallAtMost is Call.
func (c *Client) SubmitAtMost(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, size uint64, done func(error)) error {
	return c.submit(ctx, proc, args, results, opt, c.bounded(size), done)
}

// submit is Submit with the size of the largest reply.
func (c *Client) submit(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, most bound, done func(error)) error {
	err := ctx.Err()
	if done == nil {
		err = oncrpc.ErrNoDone
	}
	if err == nil && len(c.cfg.Interceptors) > 0 && checkValues(args, results) == nil {
		go c.wait(ctx, proc, args, results, opt, most, done)
		return nil
	}
	p := c.newCall(proc, results)
	if err == nil {
		err = p.prepare(args, opt, most)
	}
	if err == nil {
		p.done = done
		err = oncrpc.Submit(ctx, c.carrier, &p.call, p.finished)
	}
	if err != nil {
		return p.over(false, err)
	}
	return nil
}

// wait makes a call and calls done.
func (c *Client) wait(ctx context.Context, proc uint32, args, results xdr.Value, opt *Options, most bound, done func(error)) {
	if opt != nil && !opt.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, opt.Deadline)
		defer cancel()
	}
	done(c.call(ctx, proc, args, results, opt, most))
}

// ended is called by the carrier when a call that was submitted is over.
func (p *pooledCall) ended(reply *oncrpc.Reply, err error) {
	ran, err := p.conclude(reply, err)
	done := p.done
	done(p.over(ran, err))
}
