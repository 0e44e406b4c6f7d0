package localfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served returns an FS of a new directory.
func served(t testing.TB) (l *FS, dir string) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "dir")
	check(t, os.Mkdir(dir, 0o755))
	l, err := Open(Config{Dir: dir, State: filepath.Join(base, "state")})
	check(t, err)
	t.Cleanup(func() { check(t, l.Close()) })
	return l, dir
}

// made makes a file in the root, and returns its ID and attributes.
func made(t testing.TB, l *FS, name string) (vfs.ID, vfs.Attr) {
	t.Helper()
	root, _, err := l.Root()
	check(t, err)
	n, a, err := root.Create(name, vfs.New{Mode: 0o600})
	check(t, err)
	id, err := n.ID()
	check(t, err)
	return id, a
}

// A change is noted only if no later one can have the same time, in whole seconds.
func TestSettledChangesAreOld(t *testing.T) {
	change := time.Unix(1000, 999_999_999)
	for now, want := range map[int64]bool{999: false, 1000: false, 1001: false, 1002: true, 5000: true} {
		if got := settled(change, time.Unix(now, 0)); got != want {
			t.Errorf("at %d: %v, want %v", now, got, want)
		}
	}
}

// An ID is of one device: a file with the same inode number on another one is not its file.
// TestHandlesUnderMountAreStale of package nfsd shows it with a mount, where tests can make one.
func TestIDsAreOfOneDevice(t *testing.T) {
	l, _ := served(t)
	file, _ := made(t, l, "file")
	device := l.dev
	l.dev = 1 << 60
	if _, _, err := l.Root(); !errors.Is(err, vfs.ErrStale) {
		t.Errorf("the root on another device: %v", err)
	}
	if _, _, err := l.Resolve(file); !errors.Is(err, vfs.ErrStale) {
		t.Errorf("a file on another device: %v", err)
	}
	l.dev = device
	_, _, err := l.Resolve(file)
	check(t, err)
}

// The time of a change that may not be over yet is not noted: the next change may have the same.
func TestRecentChangeIsNotNoted(t *testing.T) {
	l, dir := served(t)
	for end := time.Now().Add(20 * time.Second); ; {
		id, a := made(t, l, "file")
		_, _, err := l.Resolve(id)
		check(t, err)
		_, confirmed := l.table.paths(a.Ino, l.table.generation(a.Ino))
		if !settled(a.Ctime, time.Now()) { // else the machine was too slow: once more
			if !confirmed.IsZero() {
				t.Error("a change in this second is noted")
			}
			return
		}
		check(t, os.Remove(filepath.Join(dir, "file")))
		if time.Now().After(end) {
			t.Fatal("each change is older than a second")
		}
	}
}

// A Node found by names alone gets an ID that leads to it: its directories get theirs, too.
func TestIDBelowDirectoriesWithout(t *testing.T) {
	l, dir := served(t)
	check(t, os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755))
	n, _, err := l.Root()
	check(t, err)
	for _, name := range []string{"a", "b", "c"} {
		n, _, err = n.Lookup(name)
		check(t, err)
	}
	want, err := n.Attr()
	check(t, err)
	id, err := n.ID()
	check(t, err)
	if _, got, err := l.Resolve(id); err != nil || got.Ino != want.Ino {
		t.Errorf("the ID leads to file %d, %v, expected %d", got.Ino, err, want.Ino)
	}
}
