package rdmadev

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Unlimited is a limit of memory that is not one.
const Unlimited = ^uint64(0)

// LockedMemory returns how many bytes this process may have registered at once (RLIMIT_MEMLOCK),
// Unlimited if there is no limit, and how many it has. ok is false where the system has no such
// limit.
func (t Tree) LockedMemory() (limit, used uint64, ok bool) {
	limit, ok = lockedMemoryLimit()
	return limit, t.pinned(), ok
}

// pinned returns the bytes that this process has pinned (VmPin), or 0 if the kernel does not say.
func (t Tree) pinned() uint64 {
	for line := range strings.Lines(t.text("proc/self/status")) {
		if text, ok := strings.CutPrefix(line, "VmPin:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 53)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// Memory explains why the kernel refused memory for a device. step is the call that failed, such as
// "register memory", and bytes the size that it wanted, 0 if the library decides. If RLIMIT_MEMLOCK
// is not the reason, Memory returns cause.
func (t Tree) Memory(step string, bytes uint64, cause error) error {
	limit, used, ok := t.LockedMemory()
	return memoryProblem(step, bytes, limit, used, ok, cause)
}

func memoryProblem(step string, bytes, limit, used uint64, ok bool, cause error) error {
	if !ok || limit == Unlimited || !errors.Is(cause, syscall.ENOMEM) {
		return cause
	}
	page := uint64(os.Getpagesize())
	// A range that begins and ends within pages takes one more than its bytes.
	if need := (bytes+page-1)/page*page + page; bytes > 0 && used+need <= limit {
		return cause
	}
	wanted := "memory"
	if bytes > 0 {
		wanted = sizeText(bytes)
	}
	return problem(MemoryLimit, cause,
		"ulimit -l unlimited before the program starts; LimitMEMLOCK=infinity in a systemd unit; docker run --ulimit memlock=-1; "+
			"in Kubernetes the limit is the container runtime's (LimitMEMLOCK of containerd or crio)",
		"%s: %s exceeds what this process may lock: RLIMIT_MEMLOCK is %s, of which %s are in use", step, wanted, sizeText(limit), sizeText(used))
}

// sizeText returns bytes with a unit that is exact, or in bytes.
func sizeText(n uint64) string {
	switch {
	case n == Unlimited:
		return "unlimited"
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
