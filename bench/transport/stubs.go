package transport

import (
	"bytes"
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/bench/transport/echo"
	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// echoV1 is the program that goes through generated code and oncrpc/rpc on both sides.
var echoV1 = oncrpc.Program{Number: echo.Program, Version: echo.Version1}

// newStubs returns a handler of that program. If marked, its procedure never blocks.
func newStubs(marked bool) rdmaio.Handler {
	svc := rpc.NewService(echoV1)
	rpc.Handle(svc, echo.ProcEcho, func(_ *rpc.Request, args, res *echo.Message) error {
		res.Data = args.Data
		return nil
	})
	svc.MaxReply(4 * argumentBytes)
	if marked {
		svc.NonBlocking(echo.ProcEcho)
	}
	return rpc.NewHandler(nil, svc)
}

// stubClient makes calls to it, as a caller that does not tune its memory.
type stubClient struct {
	conn  closer
	calls *rpc.Client
	body  []byte
}

func dialStubs(ctx context.Context, dev verbs.Device, addr string, s bench.Shape) (*stubClient, error) {
	conn, err := rdmaio.Dial(ctx, dev, addr, config(s.Depth))
	if err != nil {
		return nil, err
	}
	return newStubClient(conn, s), nil
}

// newStubClient returns a stubClient of a connection.
func newStubClient(conn closer, s bench.Shape) *stubClient {
	return &stubClient{conn: conn, calls: rpc.NewClient(conn, echoV1, nil), body: bench.Pattern(s.Size)}
}

func (c *stubClient) call(int) error {
	var res echo.Message
	if err := c.calls.Call(context.Background(), echo.ProcEcho, &echo.Message{Data: c.body}, &res, nil); err != nil {
		return err
	}
	if !bytes.Equal(res.Data, c.body) {
		return errDiffers
	}
	return nil
}

// starter returns a function that begins the call of a slot, with memory for its results.
func (c *stubClient) starter(depth int) func(slot int, done func(error)) error {
	type slot struct {
		args, res echo.Message
		opt       rpc.Options
		done      func(error)
		ended     func(error)
	}
	slots := make([]slot, depth)
	for i := range slots {
		s := &slots[i]
		s.args.Data = c.body
		s.opt.ReplyBuf = make([]byte, rpc.ReplyHead+s.args.XDRSize())
		s.ended = func(err error) {
			if err == nil && !bytes.Equal(s.res.Data, c.body) {
				err = errDiffers
			}
			s.done(err)
		}
	}
	return func(n int, done func(error)) error {
		s := &slots[n]
		s.done = done
		return c.calls.Submit(context.Background(), echo.ProcEcho, &s.args, &s.res, &s.opt, s.ended)
	}
}

// errDiffers reports that the server's data is wrong.
var errDiffers = errors.New("the data returned differs from the data sent")

// Close ends the connection.
func (c *stubClient) Close() error { return c.conn.Close() }
