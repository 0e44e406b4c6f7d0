package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"

	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// side is one end of a copy: files below a directory. Symbolic links that lead outside are not
// followed.
type side interface {
	stat(name string) (fs.FileInfo, error) // of a link, not of its target
	list(name string) iter.Seq2[fs.FileInfo, error]
	readLink(name string) (string, error)
	readFile(name string) ([]byte, error)
	writeFile(name string, data []byte) error // returns when data are stored
	mkdir(name string) error
	chmod(name string, perm fs.FileMode) error
	symlink(target, name string) error
	remove(name string) error
	rename(from, to string) error
	setAttr(name string, info fs.FileInfo) error // permissions and time
}

// local is a directory of this machine. os.Root refuses names and links that lead outside.
type local struct{ *os.Root }

func (l local) stat(name string) (fs.FileInfo, error)     { return l.Lstat(name) }
func (l local) readLink(name string) (string, error)      { return l.Readlink(name) }
func (l local) readFile(name string) ([]byte, error)      { return l.ReadFile(name) }
func (l local) mkdir(name string) error                   { return l.Mkdir(name, 0o700) }
func (l local) chmod(name string, perm fs.FileMode) error { return l.Chmod(name, perm) }
func (l local) symlink(target, name string) error         { return l.Symlink(target, name) }
func (l local) remove(name string) error                  { return l.Remove(name) }
func (l local) rename(from, to string) error              { return l.Rename(from, to) }
func (l local) writeFile(name string, data []byte) error  { return l.WriteFile(name, data, 0o600) }

func (l local) list(name string) iter.Seq2[fs.FileInfo, error] {
	return func(yield func(fs.FileInfo, error) bool) {
		dir, err := l.Open(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer dir.Close()
		for {
			entries, err := dir.ReadDir(256)
			for _, e := range entries {
				info, err := l.stat(path.Join(name, e.Name()))
				if errors.Is(err, fs.ErrNotExist) {
					continue // removed since
				}
				if !yield(info, err) || err != nil {
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(nil, err)
				}
				return
			}
		}
	}
}

func (l local) setAttr(name string, info fs.FileInfo) error {
	return errors.Join(l.Chmod(name, info.Mode().Perm()), l.Chtimes(name, info.ModTime(), info.ModTime()))
}

// remote is a directory of the server.
type remote struct {
	ctx context.Context
	c   *client.Client
}

func (r remote) stat(name string) (fs.FileInfo, error) { return info(r.c.Stat(r.ctx, name)) }
func (r remote) readLink(name string) (string, error)  { return r.c.ReadLink(r.ctx, name) }
func (r remote) mkdir(name string) error               { return r.c.Mkdir(r.ctx, name, 0o700) }
func (r remote) chmod(name string, perm fs.FileMode) error {
	return r.c.SetAttr(r.ctx, name, client.SetMode(perm))
}
func (r remote) symlink(target, name string) error { return r.c.Symlink(r.ctx, target, name) }
func (r remote) remove(name string) error          { return r.c.Remove(r.ctx, name) }
func (r remote) rename(from, to string) error      { return r.c.Rename(r.ctx, from, to) }

// info returns a description as an interface, nil with an error.
func info(i *client.Info, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (r remote) list(name string) iter.Seq2[fs.FileInfo, error] {
	return func(yield func(fs.FileInfo, error) bool) {
		for i, err := range r.c.ReadDir(r.ctx, name) {
			if !yield(info(i, err)) {
				return
			}
		}
	}
}

func (r remote) readFile(name string) ([]byte, error) {
	f, err := r.c.Open(r.ctx, name)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, maxNote+1)
	n, err := f.ReadAt(buf, 0)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], err
}

func (r remote) writeFile(name string, data []byte) error {
	f, err := r.c.Create(r.ctx, name, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

func (r remote) setAttr(name string, info fs.FileInfo) error {
	attr := client.SetTimes(info.ModTime(), info.ModTime())
	attr.Mode = client.SetMode(info.Mode().Perm()).Mode
	return r.c.SetAttr(r.ctx, name, attr)
}
