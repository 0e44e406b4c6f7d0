// Command rpcrdma tries RPC over RDMA: is a server alive, how fast is it, what goes over the wire.
//
//	rpcrdma serve                    a server to try with
//	rpcrdma ping HOST                is there a server, and what does it say
//	rpcrdma perf HOST                how fast is it
//
// rpcrdma help shows everything. No hardware is needed: by default RDMA is carried over TCP.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rpcrdma/rpcrdma/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills
	code := run(ctx, os.Args[1:], environment{stdout: os.Stdout, stderr: os.Stderr, terminal: cli.IsTerminal(os.Stderr)})
	os.Exit(code)
}
