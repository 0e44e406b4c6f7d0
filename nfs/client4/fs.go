package client4

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// FS returns a directory of the server as a file system. ctx applies to all its calls. It
// implements fs.ReadDirFS, fs.StatFS and fs.ReadLinkFS. Stat and Open follow no links.
func (c *Client) FS(ctx context.Context, dir string) fs.FS { return &files{c, ctx, dir} }

type files struct {
	c   *Client
	ctx context.Context
	dir string
}

var (
	_ fs.ReadDirFS  = (*files)(nil)
	_ fs.ReadLinkFS = (*files)(nil)
)

// whole returns the name on the server.
func (s *files) whole(op, name string) (string, error) {
	if !fs.ValidPath(name) || strings.Contains(name, "\x00") {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return path.Join(s.dir, name), nil
}

// of returns err as an error about a name.
func of(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Open implements fs.FS.
func (s *files) Open(name string) (fs.File, error) {
	whole, err := s.whole("open", name)
	if err != nil {
		return nil, err
	}
	info, err := s.c.Stat(s.ctx, whole)
	if err != nil {
		return nil, of("open", name, err)
	}
	if info.IsDir() {
		return &directory{s: s, name: name, info: info}, nil
	}
	f, err := s.c.Open(s.ctx, whole)
	if err != nil {
		return nil, of("open", name, err)
	}
	return &regular{File: f, path: name}, nil
}

// Stat implements fs.StatFS.
func (s *files) Stat(name string) (fs.FileInfo, error) { return s.Lstat(name) }

// Lstat implements fs.ReadLinkFS.
func (s *files) Lstat(name string) (fs.FileInfo, error) {
	whole, err := s.whole("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := s.c.Stat(s.ctx, whole)
	if err != nil {
		return nil, of("stat", name, err)
	}
	return info, nil
}

// ReadLink implements fs.ReadLinkFS.
func (s *files) ReadLink(name string) (string, error) {
	whole, err := s.whole("readlink", name)
	if err != nil {
		return "", err
	}
	to, err := s.c.ReadLink(s.ctx, whole)
	return to, of("readlink", name, err)
}

// ReadDir implements fs.ReadDirFS.
func (s *files) ReadDir(name string) (out []fs.DirEntry, err error) {
	whole, err := s.whole("readdir", name)
	if err != nil {
		return nil, err
	}
	for info, err := range s.c.ReadDir(s.ctx, whole) {
		if err != nil {
			return out, of("readdir", name, err)
		}
		out = append(out, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// regular is an open file with an offset.
type regular struct {
	*File
	path string

	mu  sync.Mutex
	off int64
}

// Read implements fs.File.
func (f *regular) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.ReadAt(p, f.off)
	f.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek implements io.Seeker.
func (f *regular) Seek(off int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		off += f.off
	case io.SeekEnd:
		info, err := f.Stat()
		if err != nil {
			return f.off, err
		}
		off += info.Size()
	}
	if off < 0 {
		return f.off, of("seek", f.path, fs.ErrInvalid)
	}
	f.off = off
	return off, nil
}

// directory is an open directory, whose entries are read by the first ReadDir.
type directory struct {
	s    *files
	name string
	info *Info

	mu   sync.Mutex
	read bool
	rest []fs.DirEntry
}

// Stat implements fs.File.
func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }

// Read implements fs.File: a directory has no data.
func (d *directory) Read([]byte) (int, error) {
	return 0, of("read", d.name, errors.New("is a directory"))
}

// Close implements fs.File.
func (d *directory) Close() error { return nil }

// ReadDir implements fs.ReadDirFile.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.read {
		all, err := d.s.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.read, d.rest = true, all
	}
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out, nil
}
