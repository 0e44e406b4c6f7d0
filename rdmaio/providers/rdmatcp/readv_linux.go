//go:build !race && !msan && !asan

package rdmatcp

import (
	"syscall"
	"unsafe"
)

const canScatter = true // see wire.read

// readv reads to two places with one system call. The standard library has it
// for writing only. Builds that watch memory do without: they would not see it.
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
