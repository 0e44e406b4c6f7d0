package iofs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// node implements vfs.Node. It stays as it is after New, but for read.
type node struct {
	readOnly
	fs     *FS
	path   string
	id     vfs.ID
	attr   vfs.Attr
	parent *node
	byName map[string]*node // of a directory
	order  []*node

	read sync.Mutex // held while the data is read into the cache, so that it is read once
}

// readOnly has the methods of a vfs.Node that change something.
type readOnly struct{}

func (readOnly) SetAttr(vfs.Change) error { return vfs.ErrReadOnly }

func (readOnly) Create(string, vfs.New) (vfs.Node, vfs.Attr, error) {
	return nil, vfs.Attr{}, vfs.ErrReadOnly
}

func (readOnly) Link(vfs.Node, string) error           { return vfs.ErrReadOnly }
func (readOnly) Remove(string) error                   { return vfs.ErrReadOnly }
func (readOnly) Rename(string, vfs.Node, string) error { return vfs.ErrReadOnly }

// ID implements vfs.Node.
func (n *node) name() string { return path.Base(n.path) }

func (n *node) ID() (vfs.ID, error) { return n.id, nil }

// Attr implements vfs.Node.
func (n *node) Attr() (vfs.Attr, error) { return n.attr, nil }

// maxLink is the longest target of a symbolic link in bytes.
const maxLink = 4095

// ReadLink implements vfs.Node. A link in a zip file has its target as data.
func (n *node) ReadLink() (string, error) {
	if n.attr.Mode.Type() != fs.ModeSymlink {
		return "", fs.ErrInvalid
	}
	if links, ok := n.fs.fsys.(fs.ReadLinkFS); ok {
		return links.ReadLink(n.path)
	}
	f, err := n.fs.fsys.Open(n.path)
	if err != nil {
		return "", err
	}
	target, err := io.ReadAll(io.LimitReader(f, maxLink+1))
	if err == nil && len(target) > maxLink {
		err = vfs.ErrNameTooLong
	}
	return string(target), errors.Join(err, f.Close())
}

// ReadDir implements vfs.Node. The cookies of "." and ".." are 1 and 2.
func (n *node) ReadDir(cookie uint64, f func(vfs.Entry) bool) (eof bool, err error) {
	if n.byName == nil {
		return false, vfs.ErrNotDir
	}
	for at := cookie; at < uint64(len(n.order))+2; at++ {
		e := vfs.Entry{Cookie: at + 1}
		switch at {
		case 0:
			e.Name, e.Ino = ".", n.attr.Ino
		case 1:
			e.Name, e.Ino = "..", n.parent.attr.Ino
		default:
			e.Name, e.Ino = n.order[at-2].name(), n.order[at-2].attr.Ino
		}
		if !f(e) {
			return false, nil
		}
	}
	return true, nil
}

// Lookup implements vfs.Node.
func (n *node) Lookup(name string) (vfs.Node, vfs.Attr, error) {
	if n.byName == nil {
		return nil, vfs.Attr{}, vfs.ErrNotDir
	}
	o := n.byName[name]
	switch name {
	case ".":
		o = n
	case "..":
		o = n.parent
	}
	if o == nil {
		return nil, vfs.Attr{}, fs.ErrNotExist
	}
	return o, o.attr, nil
}

// Open implements vfs.Node.
func (n *node) Open(access vfs.Access) (vfs.File, error) {
	switch {
	case access&vfs.Write != 0:
		return nil, vfs.ErrReadOnly
	case n.byName != nil:
		return &file{of: n}, nil
	case !n.attr.Mode.IsRegular():
		return nil, fs.ErrInvalid
	}
	if data, ok := n.fs.cache.get(n); ok {
		return &file{of: n, at: bytes.NewReader(data)}, nil
	}
	f, err := n.fs.fsys.Open(n.path)
	if err != nil {
		return nil, err
	}
	if at, ok := f.(io.ReaderAt); ok {
		return &file{of: n, at: at, open: f}, nil
	}
	if int64(n.attr.Size) > n.fs.cache.most {
		return &file{of: n, at: again{n}, open: f}, nil
	}
	data, err := n.load(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &file{of: n, at: bytes.NewReader(data)}, nil
}

// load reads the data of a file into the cache.
func (n *node) load(f fs.File) ([]byte, error) {
	n.read.Lock()
	defer n.read.Unlock()
	if data, ok := n.fs.cache.get(n); ok { // read while this call waited
		return data, nil
	}
	data := make([]byte, n.attr.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	n.fs.cache.put(n, data)
	return data, nil
}

// again reads a file from its beginning each time.
type again struct{ *node }

func (a again) ReadAt(p []byte, off int64) (int, error) {
	f, err := a.fs.fsys.Open(a.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, off); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(f, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// file implements vfs.File.
type file struct {
	of   *node
	at   io.ReaderAt // nil for a directory
	open fs.File     // nil, or to close
}

func (f *file) ReadAt(p []byte, off int64) (int, error)  { return f.at.ReadAt(p, off) }
func (f *file) WriteAt(p []byte, off int64) (int, error) { return 0, vfs.ErrReadOnly }
func (f *file) Attr() (vfs.Attr, error)                  { return f.of.attr, nil }
func (f *file) Chmod(fs.FileMode) error                  { return vfs.ErrReadOnly }
func (f *file) Truncate(int64) error                     { return vfs.ErrReadOnly }
func (f *file) Sync() error                              { return nil }

func (f *file) Close() error {
	if f.open == nil {
		return nil
	}
	return f.open.Close()
}
