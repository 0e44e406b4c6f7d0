package localfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// file implements vfs.File.
type file struct{ *os.File }

// Attr implements vfs.File.
func (f file) Attr() (vfs.Attr, error) {
	st, err := fstat(f.File)
	return st.Attr, err
}

// Truncate implements vfs.File.
func (f file) Truncate(size int64) error {
	err := f.File.Truncate(size)
	if errors.Is(err, syscall.EINVAL) { // of systems with a limit below the file system's
		err = vfs.ErrTooLarge
	}
	return err
}

// Open implements vfs.Node. A process that is not root gives itself the mode bits that it lacks, if
// access has Force, and takes them away again.
func (n *node) Open(access vfs.Access) (vfs.File, error) {
	if kind := n.Mode.Type(); kind != 0 && kind != fs.ModeDir {
		return nil, fs.ErrInvalid
	}
	flag := os.O_RDONLY
	switch access &^ vfs.Force {
	case vfs.Write:
		flag = os.O_WRONLY
	case vfs.Read | vfs.Write:
		flag = os.O_RDWR
	}
	f, err := n.open(flag)
	if access&vfs.Force != 0 && n.fs.owner != 0 && n.UID == n.fs.owner && n.Mode.IsRegular() && errors.Is(err, fs.ErrPermission) {
		f, err = n.force(flag)
	}
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (n *node) force(flag int) (*os.File, error) {
	more := n.Mode | 0o600
	if err := n.SetAttr(vfs.Change{Mode: &more}); err != nil {
		return nil, err
	}
	f, err := n.open(flag)
	if failure := n.SetAttr(vfs.Change{Mode: &n.Mode}); failure != nil && err == nil {
		return nil, errors.Join(failure, f.Close())
	}
	return f, err
}

// open opens the file of a node whose mode allows it. It never blocks and never opens anything
// else, which could have effects.
func (n *node) open(flag int) (*os.File, error) {
	f, done, err := n.fs.below.open(n.path, flag|openFlags)
	if !done {
		f, err = n.fs.root.OpenFile(n.path, flag|openFlags, 0)
	}
	if err != nil {
		return nil, err
	}
	st, err := fstat(f)
	if err == nil && !n.is(st) { // a local program has put another file there
		err = vfs.ErrStale
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
