package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// at calls f with the open directory of a path and the last name. What f calls follows no link, and
// takes one step, so the number of system calls does not depend on the depth. The directory is the
// served one, or is opened by openat2, or else by os.Root.
func (l *FS) at(op, p string, f func(dir int, name string) error) error {
	dir, done, err := l.openDir(path.Dir(p))
	if err != nil {
		return err
	}
	defer done()
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = f(dir, path.Base(p))
	}
	if err != nil && !errors.As(err, new(*fs.PathError)) {
		err = &fs.PathError{Op: op, Path: p, Err: err}
	}
	return err
}

// openDir opens a directory for calls with a name in it. The caller has to call done.
func (l *FS) openDir(p string) (fd int, done func(), err error) {
	if p == "." {
		return int(l.dir.Fd()), func() {}, nil
	}
	fd, found, err := l.below.directory(p)
	switch {
	case found && err != nil:
		return 0, nil, err
	case found:
		return fd, func() { _ = syscall.Close(fd) }, nil
	}
	// Without the flag, opening a named pipe that is in place of the directory would block.
	d, err := l.root.OpenFile(p, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return 0, nil, err
	}
	return int(d.Fd()), func() { _ = d.Close() }, nil
}

// create makes an object. It returns the attributes of a new file, which it has open: others are to
// be looked up.
func (l *FS) create(p string, what vfs.New) (st stat, known bool, err error) {
	perm := uint32(what.Mode.Perm())
	err = l.at("create", p, func(dir int, name string) error {
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
			return symlink(what.Target, dir, name)
		}
		return special(dir, name, what)
	})
	return st, known, err
}

// symlink makes a symbolic link in a directory.
func symlink(target string, dir int, name string) error {
	to, err := syscall.BytePtrFromString(target)
	if err != nil {
		return err
	}
	b, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(to)), uintptr(dir), uintptr(unsafe.Pointer(b)))
	return result(errno)
}

// link gives a file one more name.
func (l *FS) link(old, p string) error {
	return l.at("link", old, func(from int, name string) error {
		b, err := syscall.BytePtrFromString(name)
		if err != nil {
			return err
		}
		return l.at("link", p, func(to int, newName string) error {
			c, err := syscall.BytePtrFromString(newName)
			if err != nil {
				return err
			}
			_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(from), uintptr(unsafe.Pointer(b)), uintptr(to), uintptr(unsafe.Pointer(c)), 0, 0)
			return result(errno)
		})
	})
}

// result returns the error of a system call.
func result(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// rename renames an object. It may replace an empty directory.
func (l *FS) rename(old, p string, _ bool) error {
	return l.at("rename", old, func(from int, name string) error {
		return l.at("rename", p, func(to int, newName string) error {
			return syscall.Renameat(from, name, to, newName)
		})
	})
}

// remove removes the name of a file, or an empty directory.
func (l *FS) remove(p string, isDir bool) error {
	flags := uintptr(0)
	if isDir {
		flags = 0x200 // AT_REMOVEDIR
	}
	return l.at("remove", p, func(dir int, name string) error {
		b, err := syscall.BytePtrFromString(name)
		if err != nil {
			return err
		}
		_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(b)), flags)
		return result(errno)
	})
}

// readLink returns the target of a symbolic link.
func (l *FS) readLink(p string) (target string, err error) {
	buf := make([]byte, 4096) // PATH_MAX: no link is longer
	err = l.at("readlink", p, func(dir int, name string) error {
		b, err := syscall.BytePtrFromString(name)
		if err != nil {
			return err
		}
		n, _, errno := syscall.Syscall6(syscall.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(b)),
			uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
		if errno == 0 {
			target = string(buf[:n])
		}
		return result(errno)
	})
	return target, err
}

// setAttr changes attributes, of a link itself and not of what it leads to. The file is opened
// before, so that one which others rename to its name at this time keeps its attributes.
func (l *FS) setAttr(n *node, c vfs.Change) error {
	return l.at("setattr", n.path, func(dir int, name string) error {
		fd, err := syscall.Openat(dir, name, pathOnly|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer syscall.Close(fd)
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil {
			return err
		}
		if !n.is(statOfSystem(&st)) {
			return vfs.ErrStale
		}
		if uid, gid, ok := owners(c); ok {
			if err := syscall.Fchownat(fd, "", uid, gid, emptyPath); err != nil {
				return err
			}
		}
		if c.Mode != nil {
			if err := l.chmod(fd, n, *c.Mode); err != nil {
				return err
			}
		}
		if c.Atime.IsZero() && c.Mtime.IsZero() {
			return nil
		}
		if err = setTimes(fd, "", c.Atime, c.Mtime); err == syscall.EINVAL { // before Linux 5.8
			err = setTimes(dir, name, c.Atime, c.Mtime)
		}
		return err
	})
}

// chmod sets the mode of a Node, whose file is open without rights to read or write. Before Linux
// 6.6 no system call does that: then the file is found by its number in /proc.
func (l *FS) chmod(fd int, n *node, mode fs.FileMode) error {
	bits := systemMode(mode)
	switch {
	case n.Mode.Type() == fs.ModeSymlink:
		return syscall.EOPNOTSUPP
	case l.below.chmod:
		return syscall.Fchmodat(fd, "", bits, emptyPath)
	}
	err := syscall.Chmod("/proc/self/fd/"+strconv.Itoa(fd), bits)
	if err == syscall.ENOENT { // there is no /proc
		return l.root.Chmod(n.path, mode)
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
