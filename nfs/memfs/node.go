package memfs

import (
	"encoding/binary"
	"errors"
	"io/fs"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// node implements vfs.Node.
type node struct {
	fs *FS
	i  *inode
}

// perm has the bits of a mode that can be set.
const perm = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// ID implements vfs.Node.
func (n *node) ID() (id vfs.ID, err error) {
	binary.BigEndian.PutUint64(id[:8], n.i.attr.Ino)
	binary.BigEndian.PutUint64(id[8:], n.fs.instance)
	return id, nil
}

// Attr implements vfs.Node.
func (n *node) Attr() (vfs.Attr, error) {
	n.fs.mu.RLock()
	defer n.fs.mu.RUnlock()
	if n.i.attr.Links == 0 {
		return vfs.Attr{}, vfs.ErrStale
	}
	return n.i.attr, nil
}

// SetAttr implements vfs.Node.
func (n *node) SetAttr(c vfs.Change) error {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	a := &n.i.attr
	if c.Mode != nil {
		if a.Mode.Type() == fs.ModeSymlink {
			return errors.ErrUnsupported
		}
		a.Mode = a.Mode&^perm | *c.Mode&perm
	}
	if c.UID != nil {
		a.UID = *c.UID
	}
	if c.GID != nil {
		a.GID = *c.GID
	}
	if !c.Atime.IsZero() {
		a.Atime = c.Atime
	}
	if !c.Mtime.IsZero() {
		a.Mtime = c.Mtime
	}
	a.Ctime = n.fs.now()
	return nil
}

// ReadLink implements vfs.Node.
func (n *node) ReadLink() (string, error) {
	n.fs.mu.RLock()
	defer n.fs.mu.RUnlock()
	if n.i.attr.Mode.Type() != fs.ModeSymlink {
		return "", fs.ErrInvalid
	}
	return n.i.target, nil
}

// ReadDir implements vfs.Node.
func (n *node) ReadDir(cookie uint64, f func(vfs.Entry) bool) (eof bool, err error) {
	if n.i.dir == nil {
		return false, vfs.ErrNotDir
	}
	for {
		n.fs.mu.RLock()
		some := n.i.dir.after(cookie)
		if cookie < parentCookie {
			some = append([]entry{{".", selfCookie, n.i}, {"..", parentCookie, n.i.dir.parent}}[cookie:], some...)
		}
		n.fs.mu.RUnlock() // f may call Lookup
		if len(some) == 0 {
			return true, nil
		}
		for _, e := range some {
			if !f(vfs.Entry{Name: e.name, Ino: e.attr.Ino, Cookie: e.cookie}) {
				return false, nil
			}
			cookie = e.cookie
		}
	}
}

// Lookup implements vfs.Node.
func (n *node) Lookup(name string) (vfs.Node, vfs.Attr, error) {
	if n.i.dir == nil {
		return nil, vfs.Attr{}, vfs.ErrNotDir
	}
	n.fs.mu.RLock()
	defer n.fs.mu.RUnlock()
	i := n.i
	switch name {
	case ".":
	case "..":
		i = n.i.dir.parent
	default:
		e := n.i.dir.byName[name]
		if e == nil {
			return nil, vfs.Attr{}, fs.ErrNotExist
		}
		i = e.inode
	}
	return &node{n.fs, i}, i.attr, nil
}
