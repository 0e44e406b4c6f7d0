// Package header is what the versions of RPC-over-RDMA have in common: the
// first four words of every message, the model of a decoded message that the
// codecs header1 and header2 fill in, the sizes of chunk lists, and the faults
// found in what a peer sent. Chunk lists look the same on the wire in
// both versions (RFC 8166 §4.3; R15, R152, R321).
//
// Nothing here allocates for a message that is like the one before: a Message
// keeps the capacity of its slices.
package header
