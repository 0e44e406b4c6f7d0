package filetimes

import (
	"syscall"
	"time"
	"unsafe"
)

// Set sets the times of an object in an open directory, by utimensat(2). name is its last element;
// a symbolic link is not followed. Since Linux 5.8 it may be empty: then dir is the object itself,
// of any kind, and may be open with O_PATH. The zero time stands for no change. The error is a
// syscall.Errno. On systems other than Linux it is errors.ErrUnsupported.
func Set(dir int, name string, atime, mtime time.Time) error {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	const (
		omit      = 1<<30 - 2 // UTIME_OMIT
		noFollow  = 0x100     // AT_SYMLINK_NOFOLLOW
		emptyPath = 0x1000    // AT_EMPTY_PATH
	)
	flags := uintptr(noFollow)
	if name == "" {
		flags = emptyPath
	}
	times := [2]syscall.Timespec{{Nsec: omit}, {Nsec: omit}}
	for i, at := range []time.Time{atime, mtime} {
		if !at.IsZero() {
			times[i] = syscall.NsecToTimespec(at.UnixNano())
		}
	}
	if _, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&times)), flags, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
