// Package perf holds the RPC program that rpcrdma perf calls: perf.x, the code that make generate
// makes of it, and the test data that both ends can generate.
package perf
