package tcp

import (
	"io/fs"
	"syscall"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// processAt returns the process at the other end of a socket, or nil if the system does not know.
func processAt(raw syscall.RawConn) (process *oncrpc.LocalIdentity) {
	_ = raw.Control(func(fd uintptr) {
		if c, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil && c.Uid != ^uint32(0) {
			process = &oncrpc.LocalIdentity{UID: c.Uid, GID: c.Gid, PID: int(c.Pid)}
		}
	})
	return process
}

// restrict limits the permissions that the file of a socket has from its first moment, as the umask
// does, too.
func restrict(raw syscall.RawConn, mode fs.FileMode) (err error) {
	fault := raw.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), uint32(mode.Perm())) })
	if fault != nil {
		return fault
	}
	return err
}
