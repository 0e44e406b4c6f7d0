// Package protocol is the seam between the engine and the versions of RPC-over-RDMA. All that
// differs by version is behind the interface Version: a version is a package that implements it,
// and no other package asks for the number of a version.
package protocol
