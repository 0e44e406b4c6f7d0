// Package rdmadev finds the RDMA devices of a Linux machine in /sys and /dev, without a library,
// and says why a device cannot be used: each Problem has a cause and the command that mends it.
//
// The provider ibverbs uses it for its errors, and the command rpcrdma devices for its list. On
// other systems there are no devices.
package rdmadev
