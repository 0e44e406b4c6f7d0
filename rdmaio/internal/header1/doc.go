// Package header1 is the codec of RPC-over-RDMA version 1 headers, between the
// model of package header and the generated package rpcrdma1, whose only user it is.
// A Codec is for one goroutine at a time and, once it has seen the largest header of
// a connection, allocates nothing.
//
// It also has the private data of RFC 8797, with which two ends of version 1 agree on
// what their connection can do: Private, FindPrivate, Agree.
package header1
