package localfs

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/rpcrdma/rpcrdma/nfs/internal/filetimes"
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
	return statOfSystem(st), nil
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
func (l *FS) generation(path string) uint64 { return generationIn(int(l.dir.Fd()), path) }

// generationOf returns the generation of a file that was found by its name.
func generationOf(n *node) uint64 {
	if n.dir.held {
		return generationIn(n.dir.fd, n.name)
	}
	return n.fs.generation(n.path)
}

func generationIn(dir int, path string) uint64 {
	name, err := syscall.BytePtrFromString(path)
	call, ok := nameToHandleAt[runtime.GOARCH]
	if err != nil || !ok {
		return 0
	}
	const most = 128 // MAX_HANDLE_SZ of name_to_handle_at(2)
	var at struct {
		handle [8 + most]byte // size and type, 4 bytes each, before it
		mount  int32
	}
	handle := &at.handle
	binary.NativeEndian.PutUint32(handle[:], most)
	_, _, errno := syscall.Syscall6(call, uintptr(dir), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(handle)), uintptr(unsafe.Pointer(&at.mount)), 0, 0)
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
		return false, vfs.ErrBadCookie
	}
	fd := int(dir.Fd())
	if _, err := syscall.Seek(fd, int64(cookie), 0); err != nil {
		return false, vfs.ErrBadCookie
	}
	// A client may take 40 entries, or a thousand: the first read brings few, and each further one
	// twice as many.
	const first, most = 2 << 10, 32 << 10
	var buf []byte
	for size := first; ; size = min(2*size, most) {
		if len(buf) < size {
			buf = make([]byte, size)
		}
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
func special(dir int, name string, what vfs.New) error {
	kinds := map[fs.FileMode]uint32{
		fs.ModeNamedPipe: syscall.S_IFIFO, fs.ModeSocket: syscall.S_IFSOCK,
		fs.ModeDevice | fs.ModeCharDevice: syscall.S_IFCHR, fs.ModeDevice: syscall.S_IFBLK,
	}
	major, minor := what.Major, what.Minor
	if major >= 1<<12 || minor >= 1<<20 { // as mknod(2) of Linux has them
		return fs.ErrInvalid
	}
	dev := minor&0xff | major<<8 | minor&^0xff<<12
	return syscall.Mknodat(dir, name, kinds[what.Mode.Type()]|uint32(what.Mode.Perm()), int(dev))
}

// setTimes sets the times of an object as filetimes.Set does.
func setTimes(dir int, name string, atime, mtime time.Time) error {
	return filetimes.Set(dir, name, atime, mtime)
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
