// Command rpcrdma calls, tests and measures RPC services, over RDMA and over TCP.
//
//	rpcrdma call FILE.x HOST PROC    calls a procedure of an interface file
//	rpcrdma info HOST                lists the services of a host
//	rpcrdma serve                    starts a test server
//	rpcrdma ping HOST                checks that a server answers
//	rpcrdma perf HOST                measures latency and throughput
//	rpcrdma conform HOST             tests whether a server or client obeys the documents
//	rpcrdma devices                  lists the RDMA devices of this machine
//	rpcrdma selftest                 runs the acceptance suite on one
//
// rpcrdma help describes the commands. No hardware is needed: by default RDMA is
// carried over TCP. Built with the tag ibverbs, it also uses RDMA devices.
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
	code := run(ctx, os.Args[1:], environment{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr})
	os.Exit(code)
}
