package machine

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// ofSystem returns the memory of the machine, or the limit of a control group of the process if
// that is less.
func ofSystem(root fs.FS) int64 {
	return min(total(root), groups(root))
}

// total returns the memory of the machine, from the line "MemTotal: 16303428 kB" (proc_meminfo(5)).
func total(root fs.FS) int64 {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return unknown
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n > 0 && n < unknown>>10 {
				return n << 10
			}
		}
	}
	return unknown
}

// groups returns the least limit of the process's control groups and their parents, of both
// versions (cgroups(7)). A line of /proc/self/cgroup is "0::/path" for version 2, and
// "5:memory:/path" for version 1. In a container the path may be the host's, which does not exist
// there. Then the root of the tree has the limit.
func groups(root fs.FS) int64 {
	least := int64(unknown)
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.SplitN(s.Text(), ":", 3)
		if len(f) < 3 {
			continue
		}
		tree, file := "sys/fs/cgroup", "memory.max"
		if f[0] != "0" {
			if !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
			tree, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) {
			b, err := fs.ReadFile(root, path.Join(tree, dir, file))
			if err == nil {
				// "max" is not a number: there is no limit.
				if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
					least = min(least, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// addressSpace returns RLIMIT_AS.
func addressSpace() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &r); err != nil || uint64(r.Cur) > unknown {
		return unknown
	}
	return int64(r.Cur)
}
