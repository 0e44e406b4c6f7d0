// Package header1 is the codec of RPC-over-RDMA version 1 headers, between the
// model of package header and the generated package rpcrdma1, whose only user it is.
// A Codec is for one goroutine at a time and, once it has seen the largest header of
// a connection, allocates nothing.
package header1
