package conform

import (
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program/programrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// NewService returns the test program, whose procedures return their arguments. None of them waits.
func NewService() *rpc.Service {
	s := programrpc.NewService(server{})
	for proc := uint32(program.ProcInt); proc <= program.ProcList; proc++ {
		s.NonBlocking(proc)
	}
	return s
}

// server has the procedures of the test program.
type server struct{}

// same returns the argument as the result.
func same[T any](args, res *T) error {
	*res = *args
	return nil
}

func (server) Int(_ *rpc.Request, args int32, res *int32) error      { return same(&args, res) }
func (server) Uint(_ *rpc.Request, args uint32, res *uint32) error   { return same(&args, res) }
func (server) Hyper(_ *rpc.Request, args int64, res *int64) error    { return same(&args, res) }
func (server) Uhyper(_ *rpc.Request, args uint64, res *uint64) error { return same(&args, res) }
func (server) Bool(_ *rpc.Request, args bool, res *bool) error       { return same(&args, res) }

// Float has one type for the argument, and another for the result.
func (server) Float(_ *rpc.Request, args *program.FloatArgs, res *program.FloatRes) error {
	return same((*program.FloatRes)(args), res)
}

// Double does, too.
func (server) Double(_ *rpc.Request, args *program.DoubleArgs, res *program.DoubleRes) error {
	return same((*program.DoubleRes)(args), res)
}

func (server) Enum(_ *rpc.Request, args, res *program.Colour) error   { return same(args, res) }
func (server) Fixed(_ *rpc.Request, args, res *program.Fixed) error   { return same(args, res) }
func (server) Bytes(_ *rpc.Request, args, res *program.Bytes) error   { return same(args, res) }
func (server) Data(_ *rpc.Request, args, res *program.Data) error     { return same(args, res) }
func (server) String(_ *rpc.Request, args, res *program.String) error { return same(args, res) }
func (server) Three(_ *rpc.Request, args, res *program.Three) error   { return same(args, res) }
func (server) Seven(_ *rpc.Request, args, res *program.Seven) error   { return same(args, res) }
func (server) Struct(_ *rpc.Request, args, res *program.Struct) error { return same(args, res) }
func (server) Union(_ *rpc.Request, args, res *program.Union) error   { return same(args, res) }
func (server) List(_ *rpc.Request, args, res *program.List) error     { return same(args, res) }
