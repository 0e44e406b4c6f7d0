//go:build darwin || freebsd

package nfsd

import (
	"io/fs"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// openFlags make the open of a named pipe return at once.
const openFlags = syscall.O_NONBLOCK

// statOf returns the attributes in the result of stat(2).
func statOf(fi fs.FileInfo) (stat, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}, failed(nfs3.StatusServerfault)
	}
	dev := uint64(st.Dev)
	return stat{dev: dev, attr: nfs3.Attr{
		Type: types[fi.Mode().Type()], Mode: modeOf(fi.Mode()), Nlink: uint32(st.Nlink),
		UID: nfs3.UID(st.Uid), GID: nfs3.GID(st.Gid), Size: nfs3.Size(st.Size), Used: nfs3.Size(st.Blocks) * 512,
		FSID: dev, FileID: nfs3.FileID(st.Ino),
		Atime: nfsTime(time.Unix(st.Atimespec.Unix())), Mtime: nfsTime(fi.ModTime()), Ctime: nfsTime(time.Unix(st.Ctimespec.Unix())),
	}}, nil
}

// generation returns a number for a file that no later file with the same inode number has: the
// time when the file was made.
func (s *Server) generation(path string) uint64 {
	fi, err := s.root.Lstat(path)
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
func (s *Server) space() (nfs3.FSStatResOK, error) {
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(s.dir.Fd()), &fs); err != nil {
		return nfs3.FSStatResOK{}, err
	}
	block := nfs3.Size(fs.Bsize)
	return nfs3.FSStatResOK{
		Tbytes: nfs3.Size(fs.Blocks) * block, Fbytes: nfs3.Size(fs.Bfree) * block, Abytes: nfs3.Size(fs.Bavail) * block,
		Tfiles: nfs3.Size(fs.Files), Ffiles: nfs3.Size(fs.Ffree), Afiles: nfs3.Size(fs.Ffree),
	}, nil
}
