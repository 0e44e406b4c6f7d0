// Package perf is the RPC program that rpcrdma perf measures with: perf.x, what
// make generate makes of it, and the data that both ends know.
package perf
