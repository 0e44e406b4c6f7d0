//go:build darwin || linux

package codectest

import "syscall"

// readOnly returns a copy of b at the end of read-only memory. A write to it faults, and so does a
// read beyond it. free releases it.
func readOnly(b []byte) (guarded []byte, free func(), err error) {
	page := syscall.Getpagesize()
	size := max(1, (len(b)+page-1)/page) * page
	m, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	copy(m[size-len(b):], b)
	for _, part := range []struct {
		pages []byte
		prot  int
	}{{m[:size], syscall.PROT_READ}, {m[size:], syscall.PROT_NONE}} {
		if err := syscall.Mprotect(part.pages, part.prot); err != nil {
			return nil, nil, err
		}
	}
	return m[size-len(b) : size : size], func() { _ = syscall.Munmap(m) }, nil
}
