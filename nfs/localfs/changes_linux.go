package localfs

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// itself calls f with a Node's object, which is open without rights to read or write. A local
// program may have put another object, or a link to one, in its place since the caller's rights
// were checked: then f is not called. What f calls takes one step of a path at most, and follows
// no link there.
func (n *node) itself(op string, f func(fd int) error) (err error) {
	switch {
	case n.held:
	case n.path == ".":
		n.fd = int(n.fs.dir.Fd())
	default:
		if n.fd, err = n.descriptor(); err != nil {
			return err
		}
		defer syscall.Close(n.fd)
	}
	defer func(was bool) { n.held = was }(n.held)
	n.held = true
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = f(n.fd)
	}
	if errno, ok := err.(syscall.Errno); ok {
		err = &fs.PathError{Op: op, Path: n.path, Err: errno}
	}
	return err
}

// hold keeps a directory open while f uses names in it.
func (n *node) hold(f func() error) error { return n.itself("open", func(int) error { return f() }) }

// descriptor opens an object, by openat2, or else by os.Root and its name in a directory. The
// caller closes it.
func (n *node) descriptor() (fd int, err error) {
	fd, done, err := n.fs.below.descriptor(n.path, pathOnly)
	if !done {
		err = n.fs.parent(n.path, func(dir int, name string) error {
			fd, err = openIn(dir, name)
			return err
		})
	}
	if err != nil {
		return 0, err
	}
	var st syscall.Stat_t
	if err = syscall.Fstat(fd, &st); err == nil && !n.is(statOfSystem(&st)) {
		err = vfs.ErrStale
	}
	if err != nil {
		_ = syscall.Close(fd)
	}
	return fd, err
}

func openIn(dir int, name string) (fd int, err error) {
	fd, err = syscall.Openat(dir, name, pathOnly|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		err = &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, err
}

// parent calls f with the directory of a path, opened by os.Root, and the last name.
func (l *FS) parent(p string, f func(dir int, name string) error) error {
	if !strings.Contains(p, "/") {
		return f(int(l.dir.Fd()), p)
	}
	// Without the flag, opening a named pipe that is in place of the directory would block.
	d, err := l.root.OpenFile(path.Dir(p), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(int(d.Fd()), path.Base(p))
}

// lstat returns the attributes of a name in a directory.
func (n *node) lstat(name string) (st stat, err error) {
	err = n.itself("lstat", func(dir int) error {
		if n.fs.below.statx {
			st, err = statx(dir, name)
			return err
		}
		fd, err := openIn(dir, name)
		if err != nil {
			return err
		}
		defer syscall.Close(fd)
		var sys syscall.Stat_t
		if err := syscall.Fstat(fd, &sys); err != nil {
			return err
		}
		st = statOfSystem(&sys)
		return nil
	})
	return st, err
}

// create makes an object. It returns the attributes of a new file, which it has open: others are to
// be looked up.
func (n *node) create(name string, what vfs.New) (st stat, known bool, err error) {
	perm := uint32(what.Mode.Perm())
	err = n.itself("create", func(dir int) error {
		switch what.Mode.Type() {
		case 0:
			const flags = os.O_CREATE | os.O_EXCL | os.O_WRONLY | openFlags | syscall.O_CLOEXEC | syscall.O_NOFOLLOW
			fd, err := syscall.Openat(dir, name, flags|syscall.O_LARGEFILE, perm)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			var sys syscall.Stat_t
			if syscall.Fstat(fd, &sys) == nil {
				st, known = statOfSystem(&sys), true
			}
			return nil
		case fs.ModeDir:
			return syscall.Mkdirat(dir, name, perm)
		case fs.ModeSymlink:
			to, err := syscall.BytePtrFromString(what.Target)
			if err != nil {
				return err
			}
			return withName(name, func(p unsafe.Pointer) syscall.Errno {
				_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(to)), uintptr(dir), uintptr(p))
				return errno
			})
		}
		return special(dir, name, what)
	})
	return st, known, err
}

// withName calls f with a name as the system has it.
func withName(name string, f func(p unsafe.Pointer) syscall.Errno) error {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	if errno := f(unsafe.Pointer(p)); errno != 0 {
		return errno
	}
	return nil
}

// link gives an object one more name. Only a process with CAP_DAC_READ_SEARCH may name it by its
// descriptor alone, before Linux 6.10: others find it in /proc.
func (n *node) link(to *node, name string) error {
	return n.itself("link", func(fd int) error {
		return to.itself("link", func(dir int) error {
			return withName(name, func(p unsafe.Pointer) syscall.Errno {
				call := func(dirFD int, old string, flags uintptr) (errno syscall.Errno) {
					_ = withName(old, func(o unsafe.Pointer) syscall.Errno {
						_, _, errno = syscall.Syscall6(syscall.SYS_LINKAT, uintptr(dirFD), uintptr(o), uintptr(dir), uintptr(p), flags, 0)
						return errno
					})
					return errno
				}
				errno := call(fd, "", emptyPath)
				if errno == syscall.ENOENT {
					const here, follow = -100, 0x400 // AT_FDCWD, AT_SYMLINK_FOLLOW
					errno = call(here, procName(fd), follow)
				}
				return errno
			})
		})
	})
}

// procName is the name of an open file in /proc.
func procName(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// rename renames an object of a directory. It may replace an empty directory.
func (n *node) rename(name string, to *node, newName string, _ bool) error {
	return n.itself("rename", func(from int) error {
		return to.itself("rename", func(dir int) error { return syscall.Renameat(from, name, dir, newName) })
	})
}

// remove removes the name of a file, or of an empty directory, from a directory.
func (n *node) remove(name string, isDir bool) error {
	flags := uintptr(0)
	if isDir {
		flags = 0x200 // AT_REMOVEDIR
	}
	return n.itself("remove", func(dir int) error {
		return withName(name, func(p unsafe.Pointer) syscall.Errno {
			_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(dir), uintptr(p), flags)
			return errno
		})
	})
}

// readLink returns the target of a symbolic link.
func (n *node) readLink() (target string, err error) {
	buf := make([]byte, 4096) // PATH_MAX: no link is longer
	err = n.itself("readlink", func(fd int) error {
		return withName("", func(p unsafe.Pointer) syscall.Errno {
			size, _, errno := syscall.Syscall6(syscall.SYS_READLINKAT, uintptr(fd), uintptr(p),
				uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
			if errno == 0 {
				target = string(buf[:size])
			}
			return errno
		})
	})
	return target, err
}

// setAttr changes attributes, of a link itself and not of what it leads to.
func (n *node) setAttr(c vfs.Change) error {
	return n.itself("setattr", func(fd int) error {
		if uid, gid, ok := owners(c); ok {
			if err := syscall.Fchownat(fd, "", uid, gid, emptyPath); err != nil {
				return err
			}
		}
		if c.Mode != nil {
			if err := n.chmod(fd, *c.Mode); err != nil {
				return err
			}
		}
		if c.Atime.IsZero() && c.Mtime.IsZero() {
			return nil
		}
		err := setTimes(fd, "", c.Atime, c.Mtime)
		if err == syscall.EINVAL && n.path != "." { // before Linux 5.8
			err = n.fs.parent(n.path, func(dir int, name string) error { return setTimes(dir, name, c.Atime, c.Mtime) })
		}
		return err
	})
}

// chmod sets the mode of a Node, whose file is open without rights to read or write. Before Linux
// 6.6 no system call does that: then the file is found by its number in /proc.
func (n *node) chmod(fd int, mode fs.FileMode) error {
	bits := systemMode(mode)
	switch {
	case n.Mode.Type() == fs.ModeSymlink:
		return syscall.EOPNOTSUPP
	case n.fs.below.chmod:
		return syscall.Fchmodat(fd, "", bits, emptyPath)
	}
	err := syscall.Chmod(procName(fd), bits)
	if err == syscall.ENOENT { // there is no /proc
		return n.fs.root.Chmod(n.path, mode)
	}
	return err
}

func systemMode(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, b := range []struct {
		mode fs.FileMode
		bit  uint32
	}{{fs.ModeSetuid, syscall.S_ISUID}, {fs.ModeSetgid, syscall.S_ISGID}, {fs.ModeSticky, syscall.S_ISVTX}} {
		if mode&b.mode != 0 {
			bits |= b.bit
		}
	}
	return bits
}
