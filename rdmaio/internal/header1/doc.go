// Package header1 encodes and decodes the headers of RPC-over-RDMA version 1. It converts between
// the model of package header and the types of the generated package rpcrdma1, which no other
// package uses. A Codec must not be used concurrently. It allocates nothing for a header that is no
// larger than an earlier one.
//
// It also has the private data of RFC 8797, with which two ends of version 1 negotiate the terms of
// their connection: Private, FindPrivate, Agree.
package header1
