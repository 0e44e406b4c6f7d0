//go:build !linux

package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// hold calls f. On this system nothing keeps a directory open: methods find it by its path.
func (n *node) hold(f func() error) error { return f() }

// lstat returns the attributes of a name in a directory.
func (n *node) lstat(name string) (stat, error) { return n.fs.lstat(path.Join(n.path, name)) }

// create makes an object, whose attributes are to be looked up. Package os makes no named pipes,
// sockets and devices.
func (n *node) create(name string, what vfs.New) (st stat, known bool, err error) {
	p := path.Join(n.path, name)
	switch what.Mode.Type() {
	case 0:
		f, err := n.fs.root.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY|openFlags, what.Mode.Perm())
		if err != nil {
			return st, false, err
		}
		return st, false, f.Close()
	case fs.ModeDir:
		return st, false, n.fs.root.Mkdir(p, what.Mode.Perm())
	case fs.ModeSymlink:
		return st, false, n.fs.root.Symlink(what.Target, p)
	}
	return st, false, errors.ErrUnsupported
}

// link gives an object one more name.
func (n *node) link(to *node, name string) error {
	return n.fs.root.Link(n.path, path.Join(to.path, name))
}

// rename renames an object of a directory. If it replaces an empty directory, that is removed
// before, because os.Root does not rename onto directories.
func (n *node) rename(name string, to *node, newName string, replaces bool) error {
	p := path.Join(to.path, newName)
	if replaces {
		if err := n.fs.root.Remove(p); err != nil {
			return err
		}
	}
	return n.fs.root.Rename(path.Join(n.path, name), p)
}

// remove removes the name of a file, or of an empty directory, from a directory.
func (n *node) remove(name string, _ bool) error { return n.fs.root.Remove(path.Join(n.path, name)) }

// readLink returns the target of a symbolic link.
func (n *node) readLink() (string, error) { return n.fs.root.Readlink(n.path) }

// setAttr changes attributes. The owner and the mode are set by the open file. Links and special
// files are not opened, nor are files that the user of a process other than root may not read: they
// are found by their path. Package os cannot set the times of a symbolic link.
func (n *node) setAttr(c vfs.Change) error {
	chown, chmod := n.fs.root.Lchown, n.fs.root.Chmod
	if kind := n.Mode.Type(); kind == 0 || kind == fs.ModeDir {
		f, err := n.open(os.O_RDONLY)
		switch {
		case err == nil:
			defer f.Close()
			chown = func(_ string, uid, gid int) error { return f.Chown(uid, gid) }
			chmod = func(_ string, mode fs.FileMode) error { return f.Chmod(mode) }
		case n.fs.owner == 0 || !errors.Is(err, fs.ErrPermission):
			return err
		}
	}
	if uid, gid, ok := owners(c); ok {
		if err := chown(n.path, uid, gid); err != nil {
			return err
		}
	}
	if c.Mode != nil {
		if err := chmod(n.path, *c.Mode); err != nil {
			return err
		}
	}
	switch {
	case c.Atime.IsZero() && c.Mtime.IsZero():
		return nil
	case n.Mode.Type() == fs.ModeSymlink:
		return errors.ErrUnsupported
	}
	return n.fs.root.Chtimes(n.path, c.Atime, c.Mtime)
}
