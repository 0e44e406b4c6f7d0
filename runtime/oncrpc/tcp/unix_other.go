//go:build !linux

package tcp

import (
	"io/fs"
	"syscall"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// processAt returns nil: package syscall has no function for it on this system.
func processAt(syscall.RawConn) *oncrpc.LocalIdentity { return nil }

// restrict does nothing: on this system the permissions of a socket have no effect on its file.
func restrict(syscall.RawConn, fs.FileMode) error { return nil }
