package memfs

import (
	"io"
	"io/fs"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// maxFile is the largest size of a file in bytes.
const maxFile = 1 << 60

// file implements vfs.File.
type file struct{ node }

// Open implements vfs.Node.
func (n *node) Open(vfs.Access) (vfs.File, error) {
	n.fs.mu.Lock()
	defer n.fs.mu.Unlock()
	if kind := n.i.attr.Mode.Type(); kind != 0 && kind != fs.ModeDir {
		return nil, fs.ErrInvalid
	}
	if n.i.attr.Links == 0 {
		return nil, vfs.ErrStale
	}
	n.i.opens++
	return &file{*n}, nil
}

// ReadAt implements vfs.File.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	n := int(min(max(int64(f.i.attr.Size)-off, 0), int64(len(p))))
	f.i.data.read(p[:n], off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements vfs.File.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if off > maxFile-int64(len(p)) {
		return 0, vfs.ErrTooLarge
	}
	if err := f.fs.take(f.i.data.need(off, int64(len(p)))); err != nil {
		return 0, err
	}
	f.i.data.write(p, off)
	f.i.attr.Size = max(f.i.attr.Size, uint64(off)+uint64(len(p)))
	f.wrote()
	return len(p), nil
}

// wrote sets the times after data has changed. The caller holds mu.
func (f *file) wrote() {
	now := f.fs.now()
	f.i.attr.Mtime, f.i.attr.Ctime = now, now
	f.i.attr.Used = uint64(f.i.data.used)
}

// Attr implements vfs.File. A file without names has attributes, too.
func (f *file) Attr() (vfs.Attr, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	return f.i.attr, nil
}

// Chmod implements vfs.File.
func (f *file) Chmod(mode fs.FileMode) error { return f.SetAttr(vfs.Change{Mode: &mode}) }

// Truncate implements vfs.File.
func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if size > maxFile {
		return vfs.ErrTooLarge
	}
	_ = f.fs.take(-f.i.data.truncate(size)) // never fails
	f.i.attr.Size = uint64(size)
	f.wrote()
	return nil
}

// Sync implements vfs.File. There is no disk.
func (f *file) Sync() error { return nil }

// Close implements vfs.File.
func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.i.opens--
	f.fs.release(f.i)
	return nil
}
