// Package v2 is version 2 of RPC-over-RDMA (draft-ietf-nfsv4-rpcrdma-version-two-00) behind the
// seam of package protocol. It converts between the model of package header and the types of the
// generated package rpcrdma2, which no other package uses. In its comments, a section without a
// document is a section of the draft.
package v2
