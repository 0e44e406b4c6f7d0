package sema

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// FileSystem is a source of files for the compiler. Paths have the form that package filepath uses.
// ReadDir returns the entries of a folder sorted by name. If a file system has the method Regular
// of Disk, the compiler calls it before it reads a file that the user did not name. If it has the
// method Document, that returns the document that ReadFile took the text of a file from, or nil.
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
