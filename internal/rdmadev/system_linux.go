package rdmadev

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// rlimitMemlock is RLIMIT_MEMLOCK, which package syscall lacks.
const rlimitMemlock = 8

// lockedMemoryLimit returns the soft limit on locked memory.
func lockedMemoryLimit() (uint64, bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(rlimitMemlock, &r); err != nil {
		return 0, false
	}
	if r.Cur >= 1<<62 { // RLIM_INFINITY, as 32-bit or 64-bit systems have it
		return Unlimited, true
	}
	return uint64(r.Cur), true
}

// owner returns the mode, user and group of a file, and the user of this process.
func (t Tree) owner(path string) string {
	info, err := os.Stat(t.path(path))
	if err != nil {
		return "a mode that cannot be read"
	}
	text := "mode " + info.Mode().Perm().String()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		text += fmt.Sprintf(", user %s and group %s", userName(st.Uid), groupName(st.Gid))
	}
	return text + fmt.Sprintf(", and this process is user %s", userName(uint32(os.Geteuid())))
}

func userName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if u, err := user.LookupId(text); err == nil {
		return u.Username
	}
	return text
}

func groupName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if g, err := user.LookupGroupId(text); err == nil {
		return g.Name
	}
	return text
}

// group returns the group of a file that its members may read and write, but for root's. It returns
// "" if there is none.
func (t Tree) group(path string) string {
	info, err := os.Stat(t.path(path))
	if err != nil || info.Mode().Perm()&0o060 != 0o060 {
		return ""
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Gid != 0 {
		return groupName(st.Gid)
	}
	return ""
}
