// Package v1 is version 1 of RPC-over-RDMA (RFC 8166) behind the seam of package protocol. It
// converts between the model of package header and the types of the generated package rpcrdma1,
// which no other package uses.
//
// It also has the private data of RFC 8797, with which two ends of version 1 negotiate the terms of
// their connection: Private, FindPrivate, Agree.
package v1
