package iofs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// node implements vfs.Node. It stays as it is after New, but for read and kept.
type node struct {
	readOnly
	fs     *FS
	name   string // the last of its path; "." for the root
	id     vfs.ID
	attr   vfs.Attr
	parent *node
	byName map[string]*node // of a directory
	order  []*node

	read sync.Mutex // held while the data is read into the cache, so that it is read once
	kept []byte     // the cache's, guarded by its mu
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

// path returns the path in the fs.FS. Only names are kept, as the paths of one long name together
// take the square of its length.
func (n *node) path() string {
	p := n.name
	for up := n.parent; up != up.parent; up = up.parent {
		p = up.name + "/" + p
	}
	return p
}

// ID implements vfs.Node.
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
		return links.ReadLink(n.path())
	}
	f, err := n.fs.fsys.Open(n.path())
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
			e.Name, e.Ino = n.order[at-2].name, n.order[at-2].attr.Ino
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
	if n.fs.cache.get(n) != nil {
		return &file{of: n, at: whole{n}}, nil
	}
	f, err := n.fs.fsys.Open(n.path())
	if err != nil {
		return nil, err
	}
	if at, ok := f.(io.ReaderAt); ok {
		return &file{of: n, at: at, open: f}, nil
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if int64(n.attr.Size) > n.fs.cache.most {
		return &file{of: n, at: again{n}}, nil
	}
	return &file{of: n, at: whole{n}}, nil
}

// whole reads a file into the cache as a whole, unless it is there. Open does not, because the
// server has locks when it calls Open.
type whole struct{ *node }

func (w whole) ReadAt(p []byte, off int64) (int, error) {
	data := w.fs.cache.get(w.node)
	if data == nil {
		var err error
		if data, err = w.load(); err != nil {
			return 0, err
		}
	}
	return bytes.NewReader(data).ReadAt(p, off)
}

// load reads the data of a file into the cache.
func (n *node) load() (data []byte, err error) {
	n.read.Lock()
	defer n.read.Unlock()
	if data := n.fs.cache.get(n); data != nil { // read while this call waited
		return data, nil
	}
	size := int64(n.attr.Size)
	n.fs.cache.reserve(size)
	done := false
	defer func() {
		if !done {
			n.fs.cache.release(size)
		}
	}()
	if data, err = n.readAll(size); err != nil {
		return nil, err
	}
	n.fs.cache.put(n, data) // the file is closed: its memory may be dropped from here on
	done = true
	return data, nil
}

// readAll reads a file of a size.
func (n *node) readAll(size int64) (data []byte, err error) {
	f, err := n.fs.fsys.Open(n.path())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data = make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, tooShort(err)
	}
	if err := atEnd(f); err != nil {
		return nil, err
	}
	return data, nil
}

// tooShort returns the error for data that ends before the size of its file: io.EOF would be the
// expected end.
func tooShort(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// atEnd returns an error unless a reader is at its end. There a zip file reports data that does not
// have its checksum.
func atEnd(r io.Reader) error {
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case nil:
		return errLonger
	case io.EOF:
		return nil
	default:
		return err
	}
}

var errLonger = errors.New("iofs: the file is longer than its size says")

// again reads a file from its beginning each time.
type again struct{ *node }

func (a again) ReadAt(p []byte, off int64) (int, error) {
	size := int64(a.attr.Size)
	if off >= size {
		return 0, io.EOF
	}
	f, err := a.fs.fsys.Open(a.path())
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, off); err != nil {
		return 0, tooShort(err)
	}
	some := p[:min(int64(len(p)), size-off)]
	n, err := io.ReadFull(f, some)
	if err != nil {
		return n, tooShort(err)
	}
	if off+int64(n) == size {
		err = atEnd(f)
	}
	if err == nil && n < len(p) {
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
