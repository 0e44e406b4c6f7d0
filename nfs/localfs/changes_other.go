//go:build !linux

package localfs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// create makes an object, whose attributes are to be looked up. Package os makes no named pipes,
// sockets and devices.
func (l *FS) create(p string, what vfs.New) (st stat, known bool, err error) {
	switch what.Mode.Type() {
	case 0:
		f, err := l.root.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY|openFlags, what.Mode.Perm())
		if err != nil {
			return st, false, err
		}
		return st, false, f.Close()
	case fs.ModeDir:
		return st, false, l.root.Mkdir(p, what.Mode.Perm())
	case fs.ModeSymlink:
		return st, false, l.root.Symlink(what.Target, p)
	}
	return st, false, errors.ErrUnsupported
}

// link gives a file one more name.
func (l *FS) link(old, p string) error { return l.root.Link(old, p) }

// rename renames an object. If it replaces an empty directory, that is removed before, because
// os.Root does not rename onto directories.
func (l *FS) rename(old, p string, replaces bool) error {
	if replaces {
		if err := l.root.Remove(p); err != nil {
			return err
		}
	}
	return l.root.Rename(old, p)
}

// remove removes the name of a file, or an empty directory.
func (l *FS) remove(p string, _ bool) error { return l.root.Remove(p) }

// readLink returns the target of a symbolic link.
func (l *FS) readLink(p string) (string, error) { return l.root.Readlink(p) }

// setAttr changes attributes. Package os cannot set the times of a symbolic link.
func (l *FS) setAttr(n *node, c vfs.Change) error {
	if uid, gid, ok := owners(c); ok {
		if err := l.root.Lchown(n.path, uid, gid); err != nil {
			return err
		}
	}
	if c.Mode != nil {
		if err := l.root.Chmod(n.path, *c.Mode); err != nil {
			return err
		}
	}
	switch {
	case c.Atime.IsZero() && c.Mtime.IsZero():
		return nil
	case n.Mode.Type() == fs.ModeSymlink:
		return errors.ErrUnsupported
	}
	return l.root.Chtimes(n.path, c.Atime, c.Mtime)
}
