//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// actor is a user that tries what a permission probe says. The files belong to 1000:1000.
type actor struct {
	name     string
	uid, gid int
	gids     []int
}

var actors = []actor{
	{"owner", 1000, 1000, nil}, {"member", 2000, 2000, []int{1000}}, {"other", 3000, 3000, nil}, {"root", 0, 0, nil},
}

// probe is a system call below a folder p with a mode, in which are a file f, a folder d, an empty
// folder e, a link l and a file in d. Next to it is a folder q that all may change, with a file g.
type probe struct {
	name string
	try  func(dir string) error
}

func at(f func(path string) error, name string) func(string) error {
	return func(dir string) error { return f(filepath.Join(dir, name)) }
}

func between(f func(from, to string) error, from, to string) func(string) error {
	return func(dir string) error { return f(filepath.Join(dir, from), filepath.Join(dir, to)) }
}

func openAs(flags int) func(string) error {
	return func(path string) error {
		fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0o644)
		if err == nil {
			err = syscall.Close(fd)
		}
		return err
	}
}

// probes returns the calls that are tried with each mode by each actor.
func probes() []probe {
	long := strings.Repeat("n", 256)
	chown := func(uid, gid int) func(string) error {
		return func(path string) error { return syscall.Lchown(path, uid, gid) }
	}
	chmod := func(mode uint32) func(string) error {
		return func(path string) error { return syscall.Chmod(path, mode) }
	}
	utimes := func(tv []syscall.Timeval) func(string) error {
		return func(path string) error { return syscall.Utimes(path, tv) }
	}
	return []probe{
		{"open to read", at(openAs(syscall.O_RDONLY), "p/f")},
		{"open to write", at(openAs(syscall.O_WRONLY), "p/f")},
		{"open and truncate", at(openAs(syscall.O_WRONLY|syscall.O_TRUNC), "p/f")},
		{"create", at(openAs(syscall.O_WRONLY|syscall.O_CREAT), "p/new")},
		{"create what exists", at(openAs(syscall.O_RDONLY|syscall.O_CREAT), "p/f")},
		{"create exclusively", at(openAs(syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL), "p/f")},
		{"open a folder to write", at(openAs(syscall.O_WRONLY), "p/d")},
		{"open through a link", at(openAs(syscall.O_RDONLY), "p/l")},
		{"open without following", at(openAs(syscall.O_RDONLY|syscall.O_NOFOLLOW), "p/l")},
		{"open below a file", at(openAs(syscall.O_RDONLY), "p/f/x")},
		{"list", at(func(path string) error { _, err := os.ReadDir(path); return err }, "p")},
		{"stat", at(func(path string) error { _, err := os.Lstat(path); return err }, "p/f")},
		{"truncate", at(func(path string) error { return syscall.Truncate(path, 1) }, "p/f")},
		{"mkdir", at(func(path string) error { return syscall.Mkdir(path, 0o755) }, "p/new")},
		{"mkdir of what exists", at(func(path string) error { return syscall.Mkdir(path, 0o755) }, "p/f")},
		{"mkdir of a long name", at(func(path string) error { return syscall.Mkdir(path, 0o755) }, "p/"+long)},
		{"symlink", at(func(path string) error { return syscall.Symlink("to", path) }, "p/new")},
		{"mkfifo", at(func(path string) error { return syscall.Mkfifo(path, 0o644) }, "p/new")},
		{"unlink", at(syscall.Unlink, "p/f")},
		{"unlink of a folder", at(syscall.Unlink, "p/e")},
		{"unlink of nothing", at(syscall.Unlink, "p/absent")},
		{"rmdir", at(syscall.Rmdir, "p/e")},
		{"rmdir of a file", at(syscall.Rmdir, "p/f")},
		{"rmdir of a full folder", at(syscall.Rmdir, "p/d")},
		{"rename within", between(syscall.Rename, "p/f", "p/new")},
		{"rename out", between(syscall.Rename, "p/f", "q/new")},
		{"rename in", between(syscall.Rename, "q/g", "p/new")},
		{"rename onto", between(syscall.Rename, "q/g", "p/f")},
		{"rename of a folder out", between(syscall.Rename, "p/d", "q/new")},
		{"rename of a folder onto a file", between(syscall.Rename, "p/d", "p/f")},
		{"rename of a file onto a folder", between(syscall.Rename, "p/f", "p/e")},
		{"rename of a folder into itself", between(syscall.Rename, "p/d", "p/d/below")},
		{"link", between(syscall.Link, "q/g", "p/new")},
		{"link of a folder", between(syscall.Link, "p/d", "q/new")},
		{"chmod", at(chmod(0o640), "p/f")},
		{"chmod with set-ids", at(chmod(0o6755), "p/f")},
		{"chmod of a folder", at(chmod(0o2755), "p/e")},
		{"chown to the same", at(chown(1000, 1000), "p/f")},
		{"chown to another user", at(chown(2000, -1), "p/f")},
		{"chown to another group", at(chown(-1, 2000), "p/f")},
		{"chown of a link", at(chown(1000, -1), "p/l")},
		{"utimes now", at(utimes(nil), "p/f")},
		{"utimes", at(utimes([]syscall.Timeval{{Sec: 5}, {Sec: 6}}), "p/f")},
	}
}

// perms tries each probe with the first count modes, by each actor, and prints the error and the
// entries that are there afterwards. The same lines come from every file system that
// does what Linux does.
func perms(dir string, count int, out io.Writer) error {
	modes := []struct{ folder, file os.FileMode }{
		{0o755, 0o644}, {0o777, 0o666}, {0o711, 0o600}, {0o700, 0o6755}, {0o555, 0o666}, {0o333, 0o060}, {0o070, 0o006}, {0o007, 0o777},
		{0o777 | os.ModeSticky, 0o666}, {0o777 | os.ModeSetgid, 0o755 | os.ModeSetuid | os.ModeSetgid},
	}
	defer syscall.Umask(syscall.Umask(0))
	for i, m := range modes[:min(max(count, 1), len(modes))] {
		for _, a := range actors {
			for j, p := range probes() {
				place := filepath.Join(dir, fmt.Sprint("m", i), a.name, fmt.Sprint(j))
				if err := furnish(place, m.folder, m.file); err != nil {
					return err
				}
				var errno syscall.Errno
				if err := as(a, func() error { return p.try(place) }); err != nil && !errors.As(err, &errno) {
					return fmt.Errorf("%s by %s: %w", p.name, a.name, err)
				}
				fmt.Fprintf(out, "%04o %s by %s: %d%s\n", m.folder.Perm(), p.name, a.name, int(errno), left(place))
			}
		}
	}
	return nil
}

// furnish makes the folders and files of a probe.
func furnish(place string, folder, file os.FileMode) error {
	p, q := filepath.Join(place, "p"), filepath.Join(place, "q")
	errs := []error{
		os.MkdirAll(filepath.Join(p, "d"), 0o777), os.Mkdir(filepath.Join(p, "e"), 0o777), os.Mkdir(q, 0o777),
		os.Symlink("f", filepath.Join(p, "l")), os.Lchown(filepath.Join(p, "l"), 1000, 1000),
	}
	for _, name := range []string{"p/f", "p/d/x", "q/g"} {
		errs = append(errs, os.WriteFile(filepath.Join(place, name), []byte("data"), 0o666))
	}
	for _, name := range []string{"p", "q", "p/d", "p/e", "p/f", "p/d/x", "q/g"} {
		errs = append(errs, os.Chown(filepath.Join(place, name), 1000, 1000))
	}
	return errors.Join(append(errs, os.Chmod(filepath.Join(p, "f"), file), os.Chmod(p, folder))...)
}

// left returns the entries of a probe's folders, with modes and owners.
func left(place string) string {
	var b strings.Builder
	for _, name := range []string{"p", "q"} {
		entries, err := os.ReadDir(filepath.Join(place, name))
		if err != nil {
			return " " + err.Error()
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				return " " + err.Error()
			}
			st := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(&b, " %.8s:%o:%d:%d", e.Name(), st.Mode, st.Uid, st.Gid)
			if time.Unix(st.Mtim.Unix()).Year() < 2000 {
				b.WriteString(":old")
			}
		}
	}
	return b.String()
}

// as calls f while the process has the effective user and the groups of an actor.
func as(a actor, f func() error) error {
	become := func(a actor) error {
		if err := errors.Join(syscall.Setgroups(a.gids), syscall.Setresgid(-1, a.gid, -1), syscall.Setresuid(-1, a.uid, -1)); err != nil {
			return fmt.Errorf("to become %s: %w", a.name, err)
		}
		return nil
	}
	if err := become(a); err != nil {
		return err
	}
	err := f()
	if failed := syscall.Setresuid(-1, 0, -1); failed != nil {
		return failed
	}
	return errors.Join(err, become(actor{name: "root"}))
}
