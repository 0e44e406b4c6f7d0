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

	listing *os.File // the directory while it is listed, for the names in it
	listed  bool     // found in a listing
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
	return st.Ino == n.Ino && st.dev == n.dev && st.Mode.Type() == n.Mode.Type()
}

// SetAttr implements vfs.Node.
func (n *node) SetAttr(c vfs.Change) error { return n.fs.setAttr(n, c) }

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
	return n.fs.readLink(n.path)
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
	n.listing = d
	defer func() { n.listing = nil }()
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
func (n *node) Create(name string, what vfs.New) (vfs.Node, vfs.Attr, error) {
	p, err := n.join(name)
	if err != nil {
		return nil, vfs.Attr{}, err
	}
	st, known, err := n.fs.create(p, what)
	switch {
	case err != nil:
		return nil, vfs.Attr{}, err
	case known && st.dev == n.fs.dev:
		return &node{fs: n.fs, path: p, stat: st, dir: n, name: name}, st.Attr, nil
	}
	o, err := n.fs.child(n, name)
	if err != nil {
		return nil, vfs.Attr{}, errors.Join(err, n.fs.remove(p, what.Mode.IsDir()))
	}
	return o, o.stat.Attr, nil
}

// Link implements vfs.Node.
func (n *node) Link(dir vfs.Node, name string) error {
	p, err := dir.(*node).join(name)
	if err != nil {
		return err
	}
	return n.fs.link(n.path, p)
}

// Remove implements vfs.Node.
func (n *node) Remove(name string) error {
	o, err := n.fs.child(n, name)
	if err != nil {
		return err
	}
	if err := n.fs.remove(o.path, o.Mode.IsDir()); err != nil {
		return err
	}
	n.fs.table.remove(o.Ino, n.Ino, name)
	return nil
}

// Rename implements vfs.Node.
func (n *node) Rename(name string, to vfs.Node, newName string) error {
	dir := to.(*node)
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
	if err := n.fs.rename(o.path, path.Join(dir.path, newName), replaces); err != nil {
		return err
	}
	if target != nil {
		n.fs.table.remove(target.Ino, dir.Ino, newName)
	}
	n.fs.table.move(o.Ino, n.Ino, name, dir.Ino, newName)
	return nil
}
