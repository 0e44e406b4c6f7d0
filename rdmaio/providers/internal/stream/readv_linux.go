//go:build !race && !msan && !asan

package stream

import (
	"syscall"
	"unsafe"
)

const canScatter = true // see Conn.read

// readv reads into two slices with one system call. The standard library offers only
// the gathering write. Builds with a race detector or sanitizer, which do not see this
// access, use other reads.
func readv(fd uintptr, a, b []byte) (int, error) {
	iov := [2]syscall.Iovec{{Base: unsafe.SliceData(a)}, {Base: unsafe.SliceData(b)}}
	iov[0].SetLen(len(a))
	iov[1].SetLen(len(b))
	n, _, errno := syscall.Syscall(syscall.SYS_READV, fd, uintptr(unsafe.Pointer(&iov)), 2)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
