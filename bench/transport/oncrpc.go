package transport

import (
	"context"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// tcpConfig is the Config of connections of runtime/oncrpc/tcp. Handlers here never wait.
var tcpConfig = tcp.Config{NonBlocking: true, MaxRequests: deepest, MaxCalls: deepest}

// dialTCP connects over runtime/oncrpc/tcp, and checks that data arrives unchanged.
func dialTCP(ctx context.Context, addr, op string, s bench.Shape) (*client, error) {
	conn, err := tcp.Dial(ctx, addr, &tcpConfig)
	if err != nil {
		return nil, err
	}
	return newClient(ctx, conn, op, s, true, false)
}

// dialTCPStubs does so for calls through generated code.
func dialTCPStubs(ctx context.Context, addr string, s bench.Shape) (*stubClient, error) {
	conn, err := tcp.Dial(ctx, addr, &tcpConfig)
	if err != nil {
		return nil, err
	}
	return newStubClient(conn, s), nil
}

// dialUDPStubs does so over runtime/oncrpc/udp.
func dialUDPStubs(ctx context.Context, addr string, s bench.Shape) (*stubClient, error) {
	conn, err := udp.Dial(ctx, addr, nil)
	if err != nil {
		return nil, err
	}
	return newStubClient(conn, s), nil
}
