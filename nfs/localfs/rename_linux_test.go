package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asNobody makes a test that runs as root use files as another user.
func asNobody(t *testing.T, dirs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, dir := range dirs {
		check(t, os.Chown(dir, 65534, 65534))
	}
	runtime.LockOSThread() // until the goroutine of the test ends, and its thread with it
	check(t, syscall.Setfsuid(65534))
}

// The system refuses to move a directory that is read-only for the server's user, because its ".."
// would change: the empty directory with the new name stays.
func TestRenameThatFailsRemovesNothing(t *testing.T) {
	l, dir := served(t)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	source, target := filepath.Join(from, "d"), filepath.Join(to, "d")
	check(t, os.MkdirAll(source, 0o755))
	check(t, os.MkdirAll(target, 0o755))
	check(t, os.Chmod(source, 0o555))
	a, _ := at(t, l, "from")
	b, _ := at(t, l, "to")
	check(t, os.Chmod(dir, 0o777))
	asNobody(t, from, to, source, target)
	err := a.Rename("d", b, "d")
	if os.Geteuid() == 0 {
		check(t, syscall.Setfsuid(0))
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the rename: %v, expected that it is refused", err)
	}
	if _, err := os.Lstat(target); err != nil {
		t.Errorf("after the rename failed: %v", err)
	}
}
