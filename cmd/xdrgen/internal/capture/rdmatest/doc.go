// Package rdmatest compares what package capture finds in captures of RPC over RDMA with what the
// two ends sent. It has tests only.
package rdmatest
