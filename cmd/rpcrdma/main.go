// Command rpcrdma tests and measures RPC over RDMA.
//
//	rpcrdma serve                    starts a test server
//	rpcrdma ping HOST                checks that a server answers
//	rpcrdma perf HOST                measures latency and throughput
//
// rpcrdma help describes the commands. No hardware is needed: by default RDMA is carried over TCP.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that the second signal kills the process
	code := run(ctx, os.Args[1:], environment{stdout: os.Stdout, stderr: os.Stderr})
	os.Exit(code)
}
