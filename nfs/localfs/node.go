package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// node implements vfs.Node.
type node struct {
	fs   *FS
	path string // from the root
	stat        // as found last
	gen  uint64 // the generation; if 0, the table gets the name below when the node gets an ID
	dir  *node  // of name
	name string

	held    bool // the object is open, as fd, for calls with names in it
	fd      int
	listing bool // the names of a directory are listed
	listed  bool // found in a listing
}

// ID implements vfs.Node.
func (n *node) ID() (vfs.ID, error) {
	if n.gen != 0 {
		return idOf(n.Ino, n.gen), nil
	}
	if err := n.dir.keep(); err != nil { // the table leads from the name to the root
		return vfs.ID{}, err
	}
	gen, known := n.fs.table.unchanged(n.Ino, n.Ctime, n.dir.Ino, n.name, n.listed)
	if !known {
		var err error
		if gen, err = n.note(); err != nil {
			return vfs.ID{}, err
		}
	}
	n.gen = gen
	return idOf(n.Ino, gen), nil
}

// note notes the name in the table, and returns the generation.
func (n *node) note() (gen uint64, err error) {
	links := !n.Mode.IsDir() && n.Links > 1
	gen = generationOf(n)
	old := settled(n.Ctime, time.Now())
	if n.listed {
		var changed time.Time
		if old {
			changed = n.Ctime
		}
		return n.fs.table.list(n.Ino, gen, changed, links, n.dir.Ino, n.name)
	}
	gen, err = n.fs.table.add(n.Ino, gen, links, n.dir.Ino, n.name)
	if err == nil && old {
		n.fs.table.confirm(n.Ino, gen, n.Ctime)
	}
	return gen, err
}

// keep gives a directory an ID that the table keeps, because it has IDs of names in the directory.
func (n *node) keep() error {
	if n.listed {
		n.listed, n.gen = false, 0
	}
	_, err := n.ID()
	return err
}

// Attr implements vfs.Node.
func (n *node) Attr() (vfs.Attr, error) {
	st, err := n.fs.lstat(n.path)
	if err != nil {
		return vfs.Attr{}, err
	}
	if !n.is(st) {
		return vfs.Attr{}, vfs.ErrStale
	}
	n.stat = st
	return st.Attr, nil
}

// is reports whether a node's file has these attributes. A new object of another type may have the
// inode number of a removed one.
func (n *node) is(st stat) bool {
	return !st.mounted && st.Ino == n.Ino && st.dev == n.dev && st.Mode.Type() == n.Mode.Type()
}

// SetAttr implements vfs.Node.
func (n *node) SetAttr(c vfs.Change) error { return n.setAttr(c) }

// owners returns the arguments of chown(2). ok is false if the change has no owner and no group.
func owners(c vfs.Change) (uid, gid int, ok bool) {
	uid, gid = -1, -1
	if c.UID != nil {
		uid = int(*c.UID)
	}
	if c.GID != nil {
		gid = int(*c.GID)
	}
	return uid, gid, c.UID != nil || c.GID != nil
}

// ReadLink implements vfs.Node.
func (n *node) ReadLink() (string, error) {
	if n.Mode.Type() != fs.ModeSymlink {
		return "", fs.ErrInvalid
	}
	return n.readLink()
}

// ReadDir implements vfs.Node.
func (n *node) ReadDir(cookie uint64, f func(vfs.Entry) bool) (eof bool, err error) {
	if !n.Mode.IsDir() {
		return false, vfs.ErrNotDir
	}
	d, err := n.open(os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer d.Close()
	n.held, n.fd, n.listing = true, int(d.Fd()), true
	defer func() { n.held, n.listing = false, false }()
	return readDir(d, cookie, func(name string, ino, next uint64) bool {
		switch {
		case name == "." || name == ".." && n.path == ".":
			ino = n.Ino // the client sees nothing above the export
		case ino == 0: // the system's listing has no numbers
			if st, err := n.fs.lstat(path.Join(n.path, name)); err == nil {
				ino = st.Ino
			}
		}
		return f(vfs.Entry{Name: name, Ino: ino, Cookie: next})
	})
}

// join returns the path of a name in a directory.
func (n *node) join(name string) (string, error) {
	if !n.Mode.IsDir() {
		return "", vfs.ErrNotDir
	}
	if n.path == "." {
		return name, nil
	}
	return n.path + "/" + name, nil
}

// Lookup implements vfs.Node.
func (n *node) Lookup(name string) (vfs.Node, vfs.Attr, error) {
	switch name {
	case ".":
		return n, n.stat.Attr, nil
	case "..":
		ino := n.fs.table.parent(n.Ino)
		return n.fs.resolve(ino, n.fs.table.generation(ino))
	}
	o, err := n.fs.child(n, name)
	if err != nil {
		return nil, vfs.Attr{}, err
	}
	return o, o.stat.Attr, nil
}

// Create implements vfs.Node.
func (n *node) Create(name string, what vfs.New) (_ vfs.Node, a vfs.Attr, err error) {
	p, err := n.join(name)
	if err != nil {
		return nil, a, err
	}
	var o *node
	err = n.hold(func() error {
		st, known, err := n.create(name, what)
		switch {
		case err != nil:
			return err
		case known && st.dev == n.fs.dev:
			o = &node{fs: n.fs, path: p, stat: st, dir: n, name: name}
			return nil
		}
		if o, err = n.fs.child(n, name); err != nil {
			err = errors.Join(err, n.remove(name, what.Mode.IsDir()))
		}
		return err
	})
	if err != nil {
		return nil, a, err
	}
	return o, o.stat.Attr, nil
}

// Link implements vfs.Node.
func (n *node) Link(dir vfs.Node, name string) error {
	to := dir.(*node)
	if _, err := to.join(name); err != nil {
		return err
	}
	return n.link(to, name)
}

// Remove implements vfs.Node.
func (n *node) Remove(name string) error {
	return n.hold(func() error {
		o, err := n.fs.child(n, name)
		if err != nil {
			return err
		}
		if err := n.remove(name, o.Mode.IsDir()); err != nil {
			return err
		}
		n.fs.table.remove(o.Ino, n.Ino, name)
		return nil
	})
}

// Rename implements vfs.Node.
func (n *node) Rename(name string, to vfs.Node, newName string) error {
	dir := to.(*node)
	if dir.path == n.path {
		dir = n // so that it is opened once
	}
	return n.hold(func() error {
		return dir.hold(func() error { return n.move(name, dir, newName) })
	})
}

// move renames an object of an open directory to a name of another open one.
func (n *node) move(name string, dir *node, newName string) error {
	o, err := n.fs.child(n, name)
	if err != nil {
		return err
	}
	target, err := n.fs.child(dir, newName)
	replaces := false // an empty directory
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = nil
	case err != nil:
		return err
	case target.is(o.stat):
		return nil
	case o.Mode.IsDir() && target.Mode.IsDir():
		if strings.HasPrefix(target.path, o.path+"/") {
			return fs.ErrInvalid
		}
		replaces = true
	}
	if err := dir.keep(); err != nil { // the table leads from the new name to the root
		return err
	}
	if err := n.rename(name, dir, newName, replaces); err != nil {
		return err
	}
	if target != nil {
		n.fs.table.remove(target.Ino, dir.Ino, newName)
	}
	n.fs.table.move(o.Ino, n.Ino, name, dir.Ino, newName)
	return nil
}
