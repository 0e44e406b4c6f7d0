package localfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// eachWay runs a test with openat2 and statx, without the first, and without both.
func eachWay(t *testing.T, test func(t *testing.T, l *FS, dir string)) {
	for _, way := range []struct{ openat2, statx bool }{{true, true}, {false, true}, {false, false}} {
		t.Run(fmt.Sprintf("openat2=%v,statx=%v", way.openat2, way.statx), func(t *testing.T) {
			l, dir := served(t)
			if way.openat2 && !l.below.use || way.statx && !l.below.statx {
				t.Skip("the kernel does not have openat2 or statx, or a sandbox refuses them")
			}
			l.below.use, l.below.statx = way.openat2, way.statx
			test(t, l, dir)
		})
	}
}

// at returns the Node and the ID of a path.
func at(t *testing.T, l *FS, path string) (n vfs.Node, id vfs.ID) {
	t.Helper()
	n, _, err := l.Root()
	check(t, err)
	for name := range strings.SplitSeq(path, "/") {
		n, _, err = n.Lookup(name)
		check(t, err)
	}
	id, err = n.ID()
	check(t, err)
	return n, id
}

// A local program moves a directory out, or puts a link to a directory outside in its place, before
// a Node is found or after: nothing outside is seen or changed.
func TestNoWayOut(t *testing.T) {
	attacks := map[string]func(t *testing.T, dir, out string){
		"a link above": func(t *testing.T, dir, out string) {
			check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "old")))
			check(t, os.Symlink(out, filepath.Join(dir, "a")))
		},
		"a relative link": func(t *testing.T, dir, _ string) {
			check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "old")))
			check(t, os.Symlink("../outside", filepath.Join(dir, "a")))
		},
		"a link below": func(t *testing.T, dir, out string) {
			check(t, os.Rename(filepath.Join(dir, "a/b"), filepath.Join(dir, "old")))
			check(t, os.Symlink(filepath.Join(out, "b"), filepath.Join(dir, "a/b")))
		},
		"moved, with a link to it": func(t *testing.T, dir, out string) {
			check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(out, "a")))
			check(t, os.Symlink(filepath.Join(out, "a"), filepath.Join(dir, "a")))
		},
		"moved": func(t *testing.T, dir, out string) {
			check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(out, "a")))
		},
		"removed, with a link to it": func(t *testing.T, dir, out string) {
			check(t, os.RemoveAll(filepath.Join(dir, "a")))
			check(t, os.Symlink(out, filepath.Join(dir, "a")))
		},
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, l *FS, dir string) {
				out := filepath.Join(dir, "..", "outside")
				for _, top := range []string{filepath.Join(dir, "a"), out} {
					check(t, os.MkdirAll(filepath.Join(top, "b"), 0o755))
					check(t, os.WriteFile(filepath.Join(top, "b", "file"), []byte("secret"), 0o644))
				}
				b, bID := at(t, l, "a/b")
				file, fileID := at(t, l, "a/b/file")
				attack(t, dir, out)
				for _, id := range []vfs.ID{bID, fileID} {
					if _, _, err := l.Resolve(id); !errors.Is(err, vfs.ErrStale) {
						t.Errorf("Resolve: %v, expected %v", err, vfs.ErrStale)
					}
				}
				mode := fs.FileMode(0o777)
				_, attrErr := file.Attr()
				_, openErr := file.Open(vfs.Read)
				_, _, lookupErr := b.Lookup("file")
				_, _, createErr := b.Create("new", vfs.New{Mode: 0o600})
				_, listErr := b.ReadDir(0, func(vfs.Entry) bool { return true })
				for what, err := range map[string]error{
					"Attr": attrErr, "Open": openErr, "Lookup": lookupErr, "Create": createErr, "ReadDir": listErr,
					"Remove": b.Remove("file"), "Rename": b.Rename("file", b, "x"), "Link": file.Link(b, "x"),
					"SetAttr": file.SetAttr(vfs.Change{Mode: &mode}),
				} {
					if err == nil {
						t.Errorf("%s succeeds", what)
					}
				}
				for _, p := range []string{"b", "a/b"} {
					list, err := os.ReadDir(filepath.Join(out, p))
					if p == "b" || err == nil {
						if len(list) != 1 || list[0].Name() != "file" {
							t.Errorf("outside, %s has %v", p, list)
						}
						info, err := list[0].Info()
						check(t, err)
						if info.Mode() != 0o644 {
							t.Errorf("outside, the file has mode %v", info.Mode())
						}
					}
				}
			})
		})
	}
}

// A local program puts a link in the place of a file: a change does not go through it, by the
// system's call or, before Linux 6.6, by /proc.
func TestNoChangeThroughLink(t *testing.T) {
	for _, chmod := range []bool{true, false} {
		t.Run(fmt.Sprint("fchmodat2=", chmod), func(t *testing.T) {
			eachWay(t, func(t *testing.T, l *FS, dir string) {
				if chmod && !l.below.chmod {
					t.Skip("the kernel does not have fchmodat2, or a sandbox refuses it")
				}
				l.below.chmod = chmod
				for _, path := range []string{"file", "a/b/file"} {
					out := filepath.Join(dir, "..", "outside")
					check(t, os.WriteFile(out, nil, 0o644))
					old := time.Unix(1_000_000_000, 0)
					check(t, os.Chtimes(out, old, old))
					name := filepath.Join(dir, path)
					check(t, os.MkdirAll(filepath.Dir(name), 0o755))
					check(t, os.WriteFile(name, nil, 0o644))
					file, _ := at(t, l, path)
					mode, id := fs.FileMode(0o751)|fs.ModeSticky, uint32(1)
					check(t, file.SetAttr(vfs.Change{Mode: &mode}))
					if info, err := os.Stat(name); err != nil || info.Mode() != mode {
						t.Errorf("the mode is %v, %v, expected %v", info.Mode(), err, mode)
					}
					check(t, os.Remove(name))
					check(t, os.Symlink(out, name))
					if err := file.SetAttr(vfs.Change{Mode: &mode}); err == nil {
						t.Error("the mode of a link changes")
					}
					_ = file.SetAttr(vfs.Change{Mtime: time.Now()})
					_ = file.SetAttr(vfs.Change{UID: &id})
					info, err := os.Stat(out)
					check(t, err)
					if sys := info.Sys().(*syscall.Stat_t); info.Mode() != 0o644 || !info.ModTime().Equal(old) || sys.Uid != uint32(os.Geteuid()) {
						t.Errorf("%s: outside, the file has mode %v, the time %v and user %d", path, info.Mode(), info.ModTime(), sys.Uid)
					}
					check(t, os.Remove(name))
				}
			})
		})
	}
}

// A link within the directory that a local program puts in the place of one leads to the files.
func TestLinkWithinTheDirectory(t *testing.T) {
	eachWay(t, func(t *testing.T, l *FS, dir string) {
		check(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, "a/b/file"), []byte("text"), 0o644))
		_, id := at(t, l, "a/b/file")
		check(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")))
		check(t, os.Symlink("c", filepath.Join(dir, "a")))
		n, _, err := l.Resolve(id)
		check(t, err)
		f, err := n.Open(vfs.Read)
		check(t, err)
		check(t, f.Close())
	})
}

// Finding files, and opening them as something else, leaves no descriptor open.
func TestDescriptorsAreClosed(t *testing.T) {
	eachWay(t, func(t *testing.T, l *FS, dir string) {
		check(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, "a/b/file"), nil, 0o644))
		n, id := at(t, l, "a/b/file")
		open := func() int {
			list, err := os.ReadDir("/proc/self/fd")
			check(t, err)
			return len(list)
		}
		before := open()
		check(t, os.Remove(filepath.Join(dir, "a/b/file")))
		check(t, os.Mkdir(filepath.Join(dir, "a/b/file"), 0o755))
		for range 100 {
			if _, _, err := l.Resolve(id); !errors.Is(err, vfs.ErrStale) {
				t.Fatalf("Resolve: %v", err)
			}
			if _, err := n.Open(vfs.Read); err == nil {
				t.Fatal("another file is opened")
			}
			if err := n.SetAttr(vfs.Change{Mtime: time.Now()}); !errors.Is(err, vfs.ErrStale) {
				t.Fatalf("SetAttr: %v", err)
			}
		}
		if after := open(); after > before+5 {
			t.Errorf("%d descriptors are open, %d before", after, before)
		}
	})
}
