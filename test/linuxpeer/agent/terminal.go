//go:build linux

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// openSlave unlocks and opens the other side of a pseudo-terminal (pts(4)), without its number: the
// kernel opens it from the master.
func openSlave(master *os.File) (*os.File, error) {
	const tiocgptpeer = 0x5441
	unlock := int32(0)
	raw, err := master.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd uintptr
	var errno syscall.Errno
	err = raw.Control(func(m uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, m, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock)))
		if errno == 0 {
			fd, _, errno = syscall.Syscall(syscall.SYS_IOCTL, m, tiocgptpeer, syscall.O_RDWR|syscall.O_NOCTTY)
		}
	})
	if err != nil {
		return nil, err
	}
	if errno != 0 {
		return nil, os.NewSyscallError("ioctl", errno)
	}
	return os.NewFile(fd, "terminal"), nil
}
