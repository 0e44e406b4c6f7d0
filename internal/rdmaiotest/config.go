package rdmaiotest

import "github.com/rpcrdma/rpcrdma/rdmaio"

// NoRemote returns a Config that lets the peer invalidate no keys.
func NoRemote() *rdmaio.Config { return &rdmaio.Config{RemoteInvalidate: -1} }
