//go:build darwin || freebsd

package localfs

import (
	"io/fs"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// openFlags make the open of a named pipe return at once.
const openFlags = syscall.O_NONBLOCK

// statOf returns the attributes in the result of stat(2).
func statOf(fi fs.FileInfo) (stat, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}, errSystem
	}
	dev := uint64(st.Dev)
	return stat{dev: dev, Attr: vfs.Attr{
		Mode: fi.Mode(), Links: uint32(st.Nlink),
		UID: st.Uid, GID: st.Gid, Size: uint64(st.Size), Used: uint64(st.Blocks) * 512,
		FSID: dev, Ino: uint64(st.Ino),
		Atime: time.Unix(st.Atimespec.Unix()), Mtime: fi.ModTime(), Ctime: time.Unix(st.Ctimespec.Unix()),
	}}, nil
}

// generation returns a number for a file that no later file with the same inode number has: the
// time when the file was made.
func (l *FS) generation(path string) uint64 {
	fi, err := l.root.Lstat(path)
	if err != nil {
		return 0
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Birthtimespec.Nano())
}

// space returns the space of the file system.
func (l *FS) space() (vfs.Space, error) {
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(l.dir.Fd()), &fs); err != nil {
		return vfs.Space{}, err
	}
	block := uint64(fs.Bsize)
	return vfs.Space{
		Bytes: fs.Blocks * block, FreeBytes: fs.Bfree * block, AvailBytes: uint64(fs.Bavail) * block,
		Files: fs.Files, FreeFiles: uint64(fs.Ffree),
	}, nil
}
