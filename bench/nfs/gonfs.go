package nfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/willscott/go-nfs-client/nfs"
	"github.com/willscott/go-nfs-client/nfs/rpc"
)

// changeable adds the methods without which go-nfs refuses changes.
type changeable struct{ billy.Filesystem }

func (c changeable) path(name string) string { return filepath.Join(c.Root(), name) }

// Chmod implements billy.Change.
func (c changeable) Chmod(name string, mode os.FileMode) error { return os.Chmod(c.path(name), mode) }

// Lchown implements billy.Change.
func (c changeable) Lchown(name string, uid, gid int) error {
	return os.Lchown(c.path(name), uid, gid)
}

// Chown implements billy.Change.
func (c changeable) Chown(name string, uid, gid int) error { return os.Chown(c.path(name), uid, gid) }

// Chtimes implements billy.Change.
func (c changeable) Chtimes(name string, atime, mtime time.Time) error {
	return os.Chtimes(c.path(name), atime, mtime)
}

// foreign is the client go-nfs-client.
type foreign struct {
	target *nfs.Target
	file   *nfs.File
	handle []byte // of file
	bufs   [][]byte
}

// dialForeign mounts an export and opens the data file.
func dialForeign(addr, export string, depth int) (*foreign, error) {
	c, err := rpc.DialTCP("tcp", addr, false)
	for range 20 { // it binds to a random port, which may be in use
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		c, err = rpc.DialTCP("tcp", addr, false)
	}
	if err != nil {
		return nil, err
	}
	mount := nfs.Mount{Client: c}
	auth := rpc.NewAuthUnix("bench", 0, 0)
	f := &foreign{bufs: buffers(depth)}
	if f.target, err = mount.Mount(export, auth.Auth()); err != nil {
		return nil, err
	}
	if f.file, err = f.target.Open("/" + dataFile); err != nil {
		return nil, err
	}
	_, f.handle, err = f.target.Lookup("/"+dataFile, false)
	return f, err
}

func (f *foreign) getattr(int) error {
	a, err := f.target.GetAttr(f.handle)
	if err == nil && a.Size() != dataSize {
		err = fmt.Errorf("found a size of %d bytes, expected %d", a.Size(), dataSize)
	}
	return err
}

func (f *foreign) lookup(int) error {
	_, _, err := f.target.Lookup("/"+dataFile, false)
	return err
}

func (f *foreign) read(slot, size int) error {
	n, err := f.file.ReadAt(f.bufs[slot][:size], 0)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (f *foreign) write(int, int) error { return errors.ErrUnsupported }

func (f *foreign) list() (int, error) {
	entries, err := f.target.ReadDirPlus("/" + listDir)
	return len(entries), err
}

// Close implements io.Closer.
func (f *foreign) Close() error {
	f.target.Close()
	return nil
}
