package main

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/internal/filetimes"
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
	setLinkTime(name string, at time.Time) error // of a link, if this side can have it
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

func (l local) setLinkTime(name string, at time.Time) (err error) {
	dir, err := l.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := filetimes.Set(int(dir.Fd()), path.Base(name), at, at); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
