// Package version2 tests errors, properties, credits and continued messages of RPC-over-RDMA
// version 2. The other end is package peer2, a scripted peer that was written from the draft alone.
package version2
