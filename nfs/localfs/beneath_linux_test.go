package localfs

import (
	"os"
	"runtime"
	"testing"
)

// Whether openat2 is used is found without leaving a file open, also where it is not.
func TestSearchForOpenat2LeavesNoFileOpen(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	check(t, err)
	defer dir.Close()
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		check(t, err)
		return len(list)
	}
	number := nameToHandleAt[runtime.GOARCH]
	defer func() { nameToHandleAt[runtime.GOARCH] = number }()
	for _, n := range []uintptr{number, 0} {
		nameToHandleAt[runtime.GOARCH] = n
		before := open()
		for range 10 {
			if b := newBeneath(dir); b.use && n == 0 {
				t.Error("openat2 is used on an unknown architecture")
			}
		}
		if now := open(); now >= before+10 {
			t.Errorf("%d files are open, %d before", now, before)
		}
	}
}
