package rpctest

import (
	"context"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Form makes a Call and waits for its result.
type Form func(c oncrpc.Carrier, ctx context.Context, call *rdmaio.Call) (*rdmaio.Reply, error)

// Forms are the forms of a Call: one that blocks, and one that is submitted.
var Forms = map[string]Form{"blocking": oncrpc.Carrier.Call, "submitted": Submitted}

// Submitted submits a Call. It panics if the Call is completed twice before it returns.
func Submitted(c oncrpc.Carrier, ctx context.Context, call *rdmaio.Call) (*rdmaio.Reply, error) {
	type result struct {
		reply *rdmaio.Reply
		err   error
	}
	results := make(chan result, 1)
	if err := oncrpc.Submit(ctx, c, call, func(reply *rdmaio.Reply, err error) {
		select {
		case results <- result{reply, err}:
		default:
			panic("a Call was completed twice")
		}
	}); err != nil {
		return nil, err
	}
	got := <-results
	return got.reply, got.err
}
