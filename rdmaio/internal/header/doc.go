// Package header has the parts of a header that all versions of RPC-over-RDMA share: the first four
// words of every message, the model of a decoded message that the versions fill in, the sizes of
// chunk lists, and the faults found in messages of the peer. Chunk lists are encoded in the same
// way in both versions (RFC 8166 §4.3; R15, R152, R321).
//
// A Message keeps the capacity of its slices, so decoding into it again allocates nothing for a
// message that is no larger than an earlier one.
package header
