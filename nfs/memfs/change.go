package memfs

import (
	"io/fs"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Create implements vfs.Node.
func (n *node) Create(name string, what vfs.New) (vfs.Node, vfs.Attr, error) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if err := n.free(name); err != nil {
		return nil, vfs.Attr{}, err
	}
	if err := n.fs.take(perObject + int64(len(what.Target)) + sizeOf(name)); err != nil {
		return nil, vfs.Attr{}, err
	}
	i := n.fs.add(what)
	n.insert(name, i)
	return &node{n.fs, i}, i.attr, nil
}

// free returns an error if a directory cannot get a name. The caller holds mu.
func (n *node) free(name string) error {
	switch {
	case n.i.dir == nil:
		return vfs.ErrNotDir
	case n.i.attr.Links == 0:
		return vfs.ErrStale
	case n.i.dir.byName[name] != nil:
		return fs.ErrExist
	}
	return nil
}

// insert gives an object a name in a directory.
func (n *node) insert(name string, i *inode) {
	n.i.dir.insert(name, i)
	if i.dir != nil {
		i.dir.parent = n.i
		n.i.attr.Links++ // for ".."
	} else {
		i.attr.Links++
	}
	n.changed(i)
}

// take takes a name from a directory.
func (n *node) take(name string) *inode {
	i := n.i.dir.byName[name].inode
	n.i.dir.remove(name)
	if i.dir != nil {
		n.i.attr.Links--
	} else {
		i.attr.Links--
	}
	n.changed(i)
	return i
}

// changed sets the times of a directory whose names have changed, and of the object.
func (n *node) changed(i *inode) {
	now := n.fs.now()
	n.i.attr.Mtime, n.i.attr.Ctime, i.attr.Ctime = now, now, now
}

// drop removes a name, and the object with its last one.
func (n *node) drop(name string) {
	i := n.take(name)
	_ = n.fs.take(-sizeOf(name)) // never fails
	if i.dir != nil {
		i.attr.Links = 0
	}
	if i.attr.Links == 0 {
		delete(n.fs.byIno, i.attr.Ino)
	}
	n.fs.release(i)
}

// Link implements vfs.Node.
func (n *node) Link(dir vfs.Node, name string) error {
	d := dir.(*node)
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	switch err := d.free(name); {
	case err != nil:
		return err
	case n.i.dir != nil:
		return vfs.ErrIsDir
	case n.i.attr.Links == 0:
		return vfs.ErrStale
	}
	if err := n.fs.take(sizeOf(name)); err != nil {
		return err
	}
	d.insert(name, n.i)
	return nil
}

// Remove implements vfs.Node.
func (n *node) Remove(name string) error {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if n.i.dir == nil {
		return vfs.ErrNotDir
	}
	e := n.i.dir.byName[name]
	switch {
	case e == nil:
		return fs.ErrNotExist
	case e.dir != nil && len(e.dir.byName) > 0:
		return vfs.ErrNotEmpty
	}
	n.drop(name)
	return nil
}

// Rename implements vfs.Node.
func (n *node) Rename(name string, to vfs.Node, newName string) error {
	d := to.(*node)
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if n.i.dir == nil || d.i.dir == nil {
		return vfs.ErrNotDir
	}
	e := n.i.dir.byName[name]
	if e == nil {
		return fs.ErrNotExist
	}
	if e.dir != nil {
		for up := d.i; up != n.fs.root; up = up.dir.parent {
			if up == e.inode {
				return fs.ErrInvalid
			}
		}
	}
	over := d.i.dir.byName[newName]
	switch {
	case over == nil:
		if d.i.attr.Links == 0 {
			return vfs.ErrStale
		}
	case over.inode == e.inode:
		return nil
	case e.dir != nil && over.dir == nil:
		return vfs.ErrNotDir
	case e.dir == nil && over.dir != nil:
		return vfs.ErrIsDir
	case over.dir != nil && len(over.dir.byName) > 0:
		return vfs.ErrNotEmpty
	}
	if err := n.fs.take(int64(len(newName) - len(name))); err != nil {
		return err
	}
	if over != nil {
		d.drop(newName)
	}
	d.insert(newName, n.take(name))
	return nil
}
