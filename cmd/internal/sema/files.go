package sema

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// FileSystem is a source of files for the compiler. Paths are those of package filepath. ReadDir
// returns the entries of a folder sorted by name. If a file system has the method Regular of
// Disk, the compiler calls it before it reads a file that the user did not name.
type FileSystem interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]os.DirEntry, error)
}

// Disk is the file system of the operating system.
type Disk struct{}

// ReadFile returns the contents of a file, at most one byte more than source.MaxSize.
func (Disk) ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, source.MaxSize+1))
}

// ReadDir returns the entries of a folder.
func (Disk) ReadDir(name string) ([]os.DirEntry, error) { return os.ReadDir(name) }

// Regular returns an error unless name is a regular file of at most limit bytes. It does
// not open the file: a pipe without a writer would block it.
func (Disk) Regular(name string, limit int64) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	case info.Size() > limit:
		return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("found %d bytes, expected at most %d", info.Size(), limit)}
	}
	return nil
}

// folder is the result of ReadDir for a folder.
type folder struct {
	entries []os.DirEntry
	err     error
}

// readDir returns the entries of a folder, sorted by name. It reads each folder once: a
// file can have thousands of includes.
func (c *compiler) readDir(name string) ([]os.DirEntry, error) {
	f, ok := c.folders[name]
	if !ok {
		f.entries, f.err = c.o.FS.ReadDir(name)
		c.folders[name] = f
	}
	return f.entries, f.err
}

// isFile reports whether there is a file with an absolute path.
func (c *compiler) isFile(abs string) bool {
	if c.byPath[abs] != nil {
		return true
	}
	entries, err := c.readDir(filepath.Dir(abs))
	if err != nil {
		return false
	}
	i, ok := slices.BinarySearchFunc(entries, filepath.Base(abs), func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	return ok && !entries[i].IsDir()
}

// readRegular reads a file that the user did not name: one beside another file, or one
// that an include names.
func (c *compiler) readRegular(name string, limit int64) ([]byte, error) {
	if d, ok := c.o.FS.(interface{ Regular(string, int64) error }); ok {
		if err := d.Regular(name, limit); err != nil {
			return nil, err
		}
	}
	return c.o.FS.ReadFile(name)
}
