//go:build unix

package rdmatcp_test

import (
	"syscall"
	"time"
)

// descriptors returns the number of files that this process may open, after it has raised the limit
// as far as possible.
func descriptors() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 256
	}
	if r.Cur < r.Max {
		most := r
		if most.Cur = r.Max; syscall.Setrlimit(syscall.RLIMIT_NOFILE, &most) == nil {
			r = most
		}
	}
	return int(min(uint64(r.Cur), 1<<20))
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
