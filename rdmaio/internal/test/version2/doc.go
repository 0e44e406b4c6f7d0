// Package version2 tests our ends against a scripted peer of RPC-over-RDMA version 2, which was
// written from the draft (package peer2): errors, properties, credits, and messages that continue
// in several Sends.
package version2
