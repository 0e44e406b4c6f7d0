package localfs

import (
	"io/fs"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// statxNumber are the numbers of statx(2), which package syscall does not have.
var statxNumber = map[string]uintptr{
	"386": 383, "amd64": 332, "arm": 397, "arm64": 291, "loong64": 291, "ppc64": 383, "ppc64le": 383, "riscv64": 291, "s390x": 379,
}

// statxResult is struct statx.
type statxResult struct {
	mask, blockSize                          uint32
	attributes                               uint64
	links, uid, gid                          uint32
	mode, _                                  uint16
	ino, size, blocks, known                 uint64
	atime, btime, ctime, mtime               statxTime
	rdevMajor, rdevMinor, devMajor, devMinor uint32
	_                                        [14]uint64
}

type statxTime struct {
	sec  int64
	nsec uint32
	_    int32
}

func (t statxTime) time() time.Time { return time.Unix(t.sec, int64(t.nsec)) }

// statx returns the attributes of a name in an open directory. It does not follow a symbolic link.
// If something is mounted over the name, they are of that. The kernel says so since Linux 5.8.
func statx(dir int, name string) (st stat, err error) {
	const basic, mountRoot = 0x7ff, 0x2000 // STATX_BASIC_STATS, STATX_ATTR_MOUNT_ROOT
	call, ok := statxNumber[runtime.GOARCH]
	if !ok {
		return st, syscall.ENOSYS
	}
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return st, err
	}
	var r statxResult
	for {
		_, _, errno := syscall.Syscall6(call, uintptr(dir), uintptr(unsafe.Pointer(p)), noFollow, basic, uintptr(unsafe.Pointer(&r)), 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return st, &fs.PathError{Op: "statx", Path: name, Err: errno}
		}
		break
	}
	dev := uint64(r.devMinor&0xff | r.devMajor<<8 | r.devMinor&^0xff<<12) // as stat(2) has it
	return stat{dev: dev, mounted: r.attributes&mountRoot != 0, Attr: vfs.Attr{
		Mode: modeOf(uint32(r.mode)), Links: r.links, UID: r.uid, GID: r.gid, Size: r.size, Used: r.blocks * 512,
		Major: r.rdevMajor, Minor: r.rdevMinor, FSID: dev, Ino: r.ino,
		Atime: r.atime.time(), Mtime: r.mtime.time(), Ctime: r.ctime.time(),
	}}, nil
}
