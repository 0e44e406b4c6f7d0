package filetimes

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The times of a link are set, the times of its target stay, and the zero time changes nothing.
func TestTimesOfALinkAreItsOwn(t *testing.T) {
	base := t.TempDir()
	file, link := filepath.Join(base, "file"), filepath.Join(base, "link")
	old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	for _, err := range []error{os.WriteFile(file, nil, 0o644), os.Symlink("file", link), os.Chtimes(file, old, old)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	atime, mtime := old.AddDate(1, 0, 0), old.AddDate(2, 0, 0)
	for _, times := range [][2]time.Time{{atime, mtime}, {}, {{}, mtime}} {
		if err := Set(int(dir.Fd()), "link", times[0], times[1]); err != nil {
			t.Fatal(err)
		}
		at, err := os.Lstat(link)
		if err != nil {
			t.Fatal(err)
		}
		sys := at.Sys().(*syscall.Stat_t)
		if !at.ModTime().Equal(mtime) || !time.Unix(sys.Atim.Unix()).Equal(atime) {
			t.Errorf("%v: the link has %v and %v", times, time.Unix(sys.Atim.Unix()), at.ModTime())
		}
	}
	if at, err := os.Lstat(file); err != nil || !at.ModTime().Equal(old) {
		t.Errorf("the target has %v, %v", at.ModTime(), err)
	}
	if err := Set(int(dir.Fd()), "none", atime, mtime); err != syscall.ENOENT {
		t.Errorf("%v, expected ENOENT", err)
	}
}
