package activation

import (
	"errors"
	"os"
	"syscall"
)

// take returns the file of a descriptor, which processes that this one starts do not get.
func take(fd int, name string) (*os.File, error) {
	var st syscall.Stat_t
	switch err := syscall.Fstat(fd, &st); {
	case err != nil:
		return nil, os.NewSyscallError("fstat", err)
	case st.Mode&syscall.S_IFMT != syscall.S_IFSOCK:
		return nil, errors.New("it is not a socket")
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name), nil
}

// isStream reports whether a socket is a stream on which connections are accepted.
func isStream(f *os.File) bool {
	return option(f, syscall.SO_TYPE) == syscall.SOCK_STREAM && option(f, syscall.SO_ACCEPTCONN) == 1
}

// isDatagram reports whether a socket is for datagrams.
func isDatagram(f *os.File) bool { return option(f, syscall.SO_TYPE) == syscall.SOCK_DGRAM }

// option returns an option of a socket, or -1.
func option(f *os.File, name int) int {
	value := -1
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if n, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, name); err == nil {
				value = n
			}
		})
	}
	return value
}
