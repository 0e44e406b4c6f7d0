//go:build unix

package verbs

import "syscall"

// cpuTime is what this process has used, in user space and in the kernel, in
// nanoseconds.
func cpuTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
