package localfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// eachWay runs a test with openat2 and without it.
func eachWay(t *testing.T, test func(t *testing.T, l *FS, dir string)) {
	for _, use := range []bool{true, false} {
		t.Run(fmt.Sprint("openat2=", use), func(t *testing.T) {
			l, dir := served(t)
			if use && !l.below.use {
				t.Skip("the kernel does not have openat2, or a sandbox refuses it")
			}
			l.below.use = use
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
		}
		if after := open(); after > before+5 {
			t.Errorf("%d descriptors are open, %d before", after, before)
		}
	})
}

// systemCalls is the environment variable with the depth that a process of TestDepthCostsNothing
// uses.
const systemCalls = "LOCALFS_DEPTH"

// A file is found and opened by the same number of system calls at any depth.
func TestDepthCostsNothing(t *testing.T) {
	const rounds = 200
	if depth := os.Getenv(systemCalls); depth != "" {
		resolveAt(t, len(depth), rounds)
		return
	}
	if l, _ := served(t); !l.below.use {
		t.Skip("the kernel does not have openat2, or a sandbox refuses it")
	}
	strace := witness.Program(t, "strace")
	count := func(depth int) (calls int) {
		log := filepath.Join(t.TempDir(), "strace")
		cmd := exec.Command(strace, "-f", "-qq", "-o", log, "-e", "trace=openat,openat2,close,newfstatat,fstat,statx,name_to_handle_at", os.Args[0], "-test.run", "^TestDepthCostsNothing$")
		cmd.Env = append(os.Environ(), systemCalls+"="+strings.Repeat("d", depth))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("strace: %v: %s", err, out)
		}
		text, err := os.ReadFile(log)
		check(t, err)
		_, text2, _ := strings.Cut(string(text), "begin-of-the-rounds")
		text3, _, found := strings.Cut(text2, "end-of-the-rounds")
		if !found {
			t.Fatal("the process did not run the rounds")
		}
		return strings.Count(text3, "\n")
	}
	near, far := count(2), count(40)
	t.Logf("%.1f system calls at depth 2, %.1f at 40", float64(near)/rounds, float64(far)/rounds)
	if far > 2*near { // a walk makes 76 more in each round
		t.Errorf("%d rounds make %d system calls at depth 2, and %d at depth 40", rounds, near, far)
	}
}

// resolveAt finds and opens a file at a depth some times, between two marks in the list of system
// calls.
func resolveAt(t *testing.T, depth, rounds int) {
	l, dir := served(t)
	path := strings.TrimSuffix(strings.Repeat("d/", depth), "/")
	check(t, os.MkdirAll(filepath.Join(dir, path), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, path, "file"), nil, 0o644))
	_, id := at(t, l, path+"/file")
	_, _ = os.Stat("begin-of-the-rounds")
	for range rounds {
		n, _, err := l.Resolve(id)
		check(t, err)
		f, err := n.Open(vfs.Read)
		check(t, err)
		check(t, f.Close())
	}
	_, _ = os.Stat("end-of-the-rounds")
}
