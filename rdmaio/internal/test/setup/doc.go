// Package setup tests what two ends agree on when a connection begins: the version, the sizes of
// inline messages, remote invalidation and RDMA Reads, whatever the other end or the device offers.
package setup
