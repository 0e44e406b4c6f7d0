//go:build unix

package process

import "syscall"

// resources returns the processor time used, and the number of times that a thread gave up its
// processor to wait.
func resources() (cpu, switches int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return u.Utime.Nano() + u.Stime.Nano(), int64(u.Nvcsw)
}
