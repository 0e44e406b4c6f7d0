package nfsd

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

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
	rdev := uint64(st.Rdev)
	return stat{dev: dev, attr: nfs3.Attr{
		Type: types[fi.Mode().Type()], Mode: modeOf(fi.Mode()), Nlink: uint32(st.Nlink),
		UID: nfs3.UID(st.Uid), GID: nfs3.GID(st.Gid), Size: nfs3.Size(st.Size), Used: nfs3.Size(st.Blocks) * 512,
		Rdev:   nfs3.SpecData{Specdata1: uint32(rdev>>8&0xfff | rdev>>32&^0xfff), Specdata2: uint32(rdev&0xff | rdev>>12&^0xff)},
		FSID:   dev,
		FileID: nfs3.FileID(st.Ino), Atime: nfsTime(time.Unix(st.Atim.Unix())),
		Mtime: nfsTime(fi.ModTime()), Ctime: nfsTime(time.Unix(st.Ctim.Unix())),
	}}, nil
}

// nameToHandleAt are the numbers of name_to_handle_at(2), which package syscall does not have. On
// other architectures files have no generations.
var nameToHandleAt = map[string]uintptr{
	"386": 341, "amd64": 303, "arm": 370, "arm64": 264, "loong64": 264, "ppc64": 345, "ppc64le": 345, "riscv64": 264, "s390x": 335,
}

// generation returns a number for a file that no later file with the same inode number has, or 0 if
// the file system does not provide one. The handles of the kernel have such a number; their form is
// the file system's own, so this is a hash of one. The path is not used otherwise: where a local
// program exchanges a directory for a link, the number is of another file, and the handle is stale.
func (s *Server) generation(path string) uint64 {
	name, err := syscall.BytePtrFromString(path)
	call, ok := nameToHandleAt[runtime.GOARCH]
	if err != nil || !ok {
		return 0
	}
	const most = 128          // MAX_HANDLE_SZ of name_to_handle_at(2)
	var handle [8 + most]byte // size and type, 4 bytes each, before it
	binary.NativeEndian.PutUint32(handle[:], most)
	var mount int32
	_, _, errno := syscall.Syscall6(call, s.dir.Fd(), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&handle)), uintptr(unsafe.Pointer(&mount)), 0, 0)
	if errno != 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write(handle[:8+min(binary.NativeEndian.Uint32(handle[:]), most)])
	return max(h.Sum64(), 1)
}

// readDir calls f with the names in a directory after a cookie, until f returns false. Cookie 0
// lists all names. next is the cookie of an entry. The cookies are the offsets that the file system
// gives: they stay valid while other entries come and go.
func readDir(dir *os.File, cookie uint64, f func(name string, ino, next uint64) bool) (eof bool, err error) {
	if int64(cookie) < 0 {
		return false, failed(nfs3.StatusBadCookie)
	}
	fd := int(dir.Fd())
	if _, err := syscall.Seek(fd, int64(cookie), 0); err != nil {
		return false, failed(nfs3.StatusBadCookie)
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false, err
		case n == 0:
			return true, nil
		}
		// An entry is d_ino, d_off, d_reclen, d_type and the name: see getdents64(2).
		for b := buf[:n]; len(b) > 19; b = b[binary.NativeEndian.Uint16(b[16:]):] {
			name := b[19:binary.NativeEndian.Uint16(b[16:])]
			for i, c := range name {
				if c == 0 {
					name = name[:i]
					break
				}
			}
			if !f(string(name), binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])) {
				return false, nil
			}
		}
	}
}

// special makes a named pipe, a socket or a device in a directory.
func special(dir *os.File, name string, what *nfs3.MkNodData) error {
	kinds := map[nfs3.FileType]uint32{
		nfs3.FileTypeFifo: syscall.S_IFIFO, nfs3.FileTypeSock: syscall.S_IFSOCK,
		nfs3.FileTypeChr: syscall.S_IFCHR, nfs3.FileTypeBlk: syscall.S_IFBLK,
	}
	major, minor := what.Device.Spec.Specdata1, what.Device.Spec.Specdata2
	if major >= 1<<12 || minor >= 1<<20 { // as mknod(2) of Linux has them
		return failed(nfs3.StatusInval)
	}
	dev := minor&0xff | major<<8 | minor&^0xff<<12
	return os.NewSyscallError("mknodat", syscall.Mknodat(int(dir.Fd()), name, kinds[what.Type]|0o600, int(dev)))
}

// linkTimes sets the times of a symbolic link in a directory, by utimensat(2). The zero time stands
// for no change.
func linkTimes(dir *os.File, name string, atime, mtime time.Time) error {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	const omit, noFollow = 1<<30 - 2, 0x100 // UTIME_OMIT, AT_SYMLINK_NOFOLLOW
	times := [2]syscall.Timespec{{Nsec: omit}, {Nsec: omit}}
	for i, at := range []time.Time{atime, mtime} {
		if !at.IsZero() {
			times[i] = syscall.NsecToTimespec(at.UnixNano())
		}
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_UTIMENSAT, dir.Fd(), uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&times)), noFollow, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("utimensat", errno)
	}
	return nil
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
