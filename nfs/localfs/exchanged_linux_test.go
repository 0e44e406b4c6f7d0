package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// A local user exchanges the directory that a caller may change for another one of the export,
// after the caller's rights were checked: no method sees or changes names in the other one.
func TestExchangedDirectory(t *testing.T) {
	attacks := map[string]func(t *testing.T, mine, other string){
		"a link": func(t *testing.T, mine, other string) {
			check(t, os.Rename(mine, mine+".old"))
			check(t, os.Symlink(filepath.Base(other), mine))
		},
		"a link above": func(t *testing.T, mine, other string) {
			above := filepath.Dir(mine)
			check(t, os.RemoveAll(above+".old"))
			check(t, os.Rename(above, above+".old"))
			check(t, os.Mkdir(above, 0o755))
			check(t, os.Symlink("../"+filepath.Base(above)+".old/"+filepath.Base(other), mine))
		},
		"the directory": func(t *testing.T, mine, other string) {
			check(t, os.Rename(mine, mine+".old"))
			check(t, os.Rename(other, mine))
			check(t, os.Symlink(filepath.Base(mine), other)) // for the test's look at it
		},
	}
	uses := map[string]func(mine, aside vfs.Node) error{
		"Lookup":            func(m, _ vfs.Node) error { _, _, err := m.Lookup("file"); return err },
		"Create":            func(m, _ vfs.Node) error { _, _, err := m.Create("new", vfs.New{Mode: 0o600}); return err },
		"Create, directory": func(m, _ vfs.Node) error { _, _, err := m.Create("new", vfs.New{Mode: fs.ModeDir | 0o700}); return err },
		"Create, link": func(m, _ vfs.Node) error {
			_, _, err := m.Create("new", vfs.New{Mode: fs.ModeSymlink | 0o777, Target: "x"})
			return err
		},
		"Create, pipe": func(m, _ vfs.Node) error {
			_, _, err := m.Create("new", vfs.New{Mode: fs.ModeNamedPipe | 0o600})
			return err
		},
		"Remove":      func(m, _ vfs.Node) error { return m.Remove("file") },
		"Rename from": func(m, a vfs.Node) error { return m.Rename("file", a, "taken") },
		"Rename to":   func(m, a vfs.Node) error { return a.Rename("given", m, "new") },
		"Rename onto": func(m, a vfs.Node) error { return a.Rename("given", m, "file") },
		"Link": func(m, a vfs.Node) error {
			given, _, err := a.Lookup("given")
			if err != nil {
				return err
			}
			return given.Link(m, "new")
		},
		"ReadDir": func(m, _ vfs.Node) error { _, err := m.ReadDir(0, func(vfs.Entry) bool { return true }); return err },
		"Open":    func(m, _ vfs.Node) error { _, err := m.Open(vfs.Read); return err },
		"SetAttr": func(m, _ vfs.Node) error { return m.SetAttr(vfs.Change{Mtime: time.Unix(1, 0)}) },
		"Attr":    func(m, _ vfs.Node) error { _, err := m.Attr(); return err },
	}
	for name, attack := range attacks {
		for _, top := range []string{"", "b/"} {
			if top == "" && name == "a link above" {
				continue
			}
			t.Run(name+"/"+top, func(t *testing.T) {
				eachWay(t, func(t *testing.T, l *FS, dir string) {
					for use, method := range uses {
						path := top + use
						mine, other, aside := filepath.Join(dir, path), filepath.Join(dir, path+".other"), filepath.Join(dir, use+".aside")
						for _, d := range []string{mine, other, aside} {
							check(t, os.MkdirAll(d, 0o755))
						}
						check(t, os.WriteFile(filepath.Join(mine, "file"), nil, 0o644))
						check(t, os.WriteFile(filepath.Join(other, "file"), []byte("secret"), 0o600))
						check(t, os.WriteFile(filepath.Join(aside, "given"), nil, 0o644))
						m, _ := at(t, l, path)
						a, _ := at(t, l, use+".aside")
						attack(t, mine, other)
						before := look(t, mine) + look(t, aside)
						if err := method(m, a); err == nil {
							t.Errorf("%s succeeds", use)
						}
						if after := look(t, mine) + look(t, aside); after != before {
							t.Errorf("%s: the directories were\n%s, and are\n%s", use, before, after)
						}
						if top != "" {
							check(t, os.RemoveAll(filepath.Join(dir, top)))
						}
					}
				})
			})
		}
	}
}

// look describes a directory, with its entries.
func look(t *testing.T, dir string) string {
	list, err := os.ReadDir(dir)
	check(t, err)
	var all strings.Builder
	for _, e := range list {
		info, err := e.Info()
		check(t, err)
		all.WriteString(fs.FormatFileInfo(info) + "\n")
	}
	info, err := os.Stat(dir)
	check(t, err)
	return all.String() + info.ModTime().String()
}

// A local user exchanges the file of a Node for another one of the directory: it gets no further
// name, and its target is not read.
func TestExchangedFile(t *testing.T) {
	eachWay(t, func(t *testing.T, l *FS, dir string) {
		for _, path := range []string{"file", "a/b/file"} {
			name := filepath.Join(dir, path)
			check(t, os.MkdirAll(filepath.Dir(name), 0o755))
			check(t, os.WriteFile(name, nil, 0o644))
			check(t, os.WriteFile(name+".secret", nil, 0o600))
			check(t, os.Symlink("mine", name+".link"))
			check(t, os.Symlink("theirs", name+".other"))
			file, _ := at(t, l, path)
			link, _ := at(t, l, path+".link")
			root, _, err := l.Root()
			check(t, err)
			check(t, os.Rename(name, name+".old")) // keeps the inode number in use
			check(t, os.Rename(name+".secret", name))
			check(t, os.Rename(name+".link", name+".link.old"))
			check(t, os.Rename(name+".other", name+".link"))
			if err := file.Link(root, "new"); !errors.Is(err, vfs.ErrStale) {
				t.Errorf("Link: %v, expected %v", err, vfs.ErrStale)
			}
			if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
				t.Error("another file got a name")
			}
			if to, err := link.ReadLink(); !errors.Is(err, vfs.ErrStale) {
				t.Errorf("ReadLink: %q, %v, expected %v", to, err, vfs.ErrStale)
			}
			if err := link.Link(root, "new"); !errors.Is(err, vfs.ErrStale) {
				t.Errorf("Link of a link: %v, expected %v", err, vfs.ErrStale)
			}
			for _, old := range []string{path + ".old", path + ".link.old"} {
				n, _ := at(t, l, old)
				check(t, n.Link(root, "new"))
				check(t, os.Remove(filepath.Join(dir, "new")))
			}
		}
	})
}

// A directory of the same file system that is mounted in the export, by mount --bind, is not a part
// of it.
func TestBindMount(t *testing.T) {
	for top, path := range map[string]string{"": "m", "a/": "a/m"} {
		t.Run(path, func(t *testing.T) {
			l, dir := served(t)
			if !l.below.use {
				t.Skip("the kernel does not have openat2, or a sandbox refuses it")
			}
			outside, mount, file := filepath.Join(dir, "..", "outside"), filepath.Join(dir, path), filepath.Join(dir, top, "f")
			for _, d := range []string{filepath.Join(outside, "d"), filepath.Join(mount, "d")} {
				check(t, os.MkdirAll(d, 0o755))
				check(t, os.WriteFile(filepath.Join(d, "file"), []byte("text"), 0o644))
			}
			check(t, os.WriteFile(file, nil, 0o644))
			inner, innerID := at(t, l, path+"/d")
			m, mID := at(t, l, path)
			_, fileID := at(t, l, top+"f")
			if err := syscall.Mount(outside, mount, "", syscall.MS_BIND, ""); err != nil {
				t.Skip("mounting: ", err)
			}
			t.Cleanup(func() { check(t, syscall.Unmount(mount, 0)) })
			check(t, syscall.Mount(filepath.Join(outside, "d/file"), file, "", syscall.MS_BIND, ""))
			t.Cleanup(func() { check(t, syscall.Unmount(file, 0)) })
			above, _, err := l.Root()
			check(t, err)
			if top != "" {
				above, _ = at(t, l, "a")
			}
			for what, id := range map[string]vfs.ID{"the directory": mID, "one below": innerID, "the file": fileID} {
				if _, _, err := l.Resolve(id); !errors.Is(err, vfs.ErrStale) {
					t.Errorf("Resolve of %s: %v, expected %v", what, err, vfs.ErrStale)
				}
			}
			for _, name := range []string{"m", "f"} {
				if _, _, err := above.Lookup(name); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("Lookup of %s: %v, expected %v", name, err, fs.ErrPermission)
				}
				if err := above.Remove(name); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("Remove of %s: %v, expected %v", name, err, fs.ErrPermission)
				}
			}
			entries := 0
			_, err = above.ReadDir(0, func(e vfs.Entry) bool {
				if e.Name == "m" || e.Name == "f" {
					entries++
					if _, _, err := above.Lookup(e.Name); !errors.Is(err, fs.ErrPermission) {
						t.Errorf("Lookup of %s in a listing: %v, expected %v", e.Name, err, fs.ErrPermission)
					}
				}
				return true
			})
			if err != nil || entries != 2 {
				t.Errorf("the listing has %d of the names, %v", entries, err)
			}
			for what, n := range map[string]vfs.Node{"the directory": m, "one below": inner} {
				_, lookup := func() (int, error) { _, _, err := n.Lookup("file"); return 0, err }()
				_, _, create := n.Create("new", vfs.New{Mode: 0o600})
				_, list := n.ReadDir(0, func(vfs.Entry) bool { return true })
				for use, err := range map[string]error{"Lookup": lookup, "Create": create, "ReadDir": list, "Remove": n.Remove("file")} {
					if err == nil {
						t.Errorf("%s in %s succeeds", use, what)
					}
				}
			}
		})
	}
}

// That is so for a directory that is mounted over itself, where all inode numbers are the same.
func TestBindMountOfItself(t *testing.T) {
	l, dir := served(t)
	if !l.below.use {
		t.Skip("the kernel does not have openat2, or a sandbox refuses it")
	}
	mount := filepath.Join(dir, "m")
	check(t, os.MkdirAll(filepath.Join(mount, "d"), 0o755))
	_, mID := at(t, l, "m")
	d, dID := at(t, l, "m/d")
	if err := syscall.Mount(mount, mount, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("mounting: ", err)
	}
	mounted := true
	unmount := func() {
		if mounted {
			mounted = false
			check(t, syscall.Unmount(mount, 0))
		}
	}
	defer unmount()
	for what, id := range map[string]vfs.ID{"the directory": mID, "one below": dID} {
		if _, _, err := l.Resolve(id); !errors.Is(err, vfs.ErrStale) {
			t.Errorf("Resolve of %s: %v, expected %v", what, err, vfs.ErrStale)
		}
	}
	if _, _, err := d.Create("new", vfs.New{Mode: 0o600}); !errors.Is(err, vfs.ErrStale) {
		t.Errorf("Create: %v, expected %v", err, vfs.ErrStale)
	}
	unmount()
	if _, _, err := l.Resolve(dID); err != nil {
		t.Errorf("Resolve without the mount: %v", err)
	}
}
