package ibverbs

import (
	"os"
	"syscall"
)

// mapMemory returns size bytes of zeroed memory, which a child process does not get: its copy on
// write would separate this process from the pages that the device uses.
func mapMemory(size int) ([]byte, error) {
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	if err := syscall.Madvise(mem, syscall.MADV_DONTFORK); err != nil {
		_ = syscall.Munmap(mem)
		return nil, os.NewSyscallError("madvise", err)
	}
	return mem, nil
}

func unmapMemory(mem []byte) error { return os.NewSyscallError("munmap", syscall.Munmap(mem)) }

// pollable makes a file of the library non-blocking, and returns a duplicate for Go's poller: the
// library closes its own.
func pollable(fd int, name string) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	syscall.ForkLock.RLock()
	dup, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(dup)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(dup), name), nil
}
