// Package protocol is the seam between the engine and the versions of RPC-over-RDMA. The headers of
// a version, and the purpose of a message, are behind the interface Version: a version is a package
// that implements it. Credit accounts and the bodies of errors are still the engine's (ADR 0048).
package protocol
