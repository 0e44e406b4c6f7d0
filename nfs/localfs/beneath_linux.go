package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// beneath finds files by openat2(2): one system call for a path of any length, in which the kernel
// goes neither through a symbolic link nor out of the directory. What it does not do is left to
// os.Root, which opens each directory of a path: errors other than that there is no such name,
// paths through links, older kernels, and sandboxes that refuse the call.
type beneath struct {
	dir   *os.File
	use   bool
	chmod bool // the system has fchmodat2(2), since Linux 6.6
}

// how is struct open_how of openat2(2).
type how struct{ flags, mode, resolve uint64 }

const (
	openat2     = 437     // on all architectures that generations are for
	pathOnly    = 1 << 21 // O_PATH
	noSymlinks  = 0x04    // RESOLVE_NO_SYMLINKS
	onlyBeneath = 0x08    // RESOLVE_BENEATH
	noFollow    = 0x100   // AT_SYMLINK_NOFOLLOW
	emptyPath   = 0x1000  // AT_EMPTY_PATH
)

func newBeneath(dir *os.File) beneath {
	b := beneath{dir: dir}
	b.chmod = syscall.Fchmodat(int(dir.Fd()), "", 0, noFollow) == syscall.ENOENT
	if nameToHandleAt[runtime.GOARCH] == 0 { // openat2 may have another number
		return b
	}
	fd, err := b.call(".", pathOnly)
	if err == nil {
		b.use = true
		_ = syscall.Close(fd)
	}
	return b
}

func (b *beneath) call(path string, flags int) (fd int, err error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}
	h := how{flags: uint64(flags | syscall.O_CLOEXEC | syscall.O_NOFOLLOW), resolve: noSymlinks | onlyBeneath}
	n, _, errno := syscall.Syscall6(openat2, b.dir.Fd(), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&h)), unsafe.Sizeof(h), 0, 0)
	if errno != 0 {
		return 0, &fs.PathError{Op: "openat2", Path: path, Err: errno}
	}
	return int(n), nil
}

// is reports whether openat2 finds a path. For one name os.Root makes one call, too.
func (b *beneath) is(path string) bool { return b.use && strings.Contains(path, "/") }

// lstat returns the attributes of an object, unless done is false: then os.Root has to.
func (b *beneath) lstat(path string) (st stat, done bool, err error) {
	if !b.is(path) {
		return st, false, nil
	}
	fd, err := b.call(path, pathOnly)
	if err != nil {
		return st, errors.Is(err, fs.ErrNotExist), err
	}
	var sys syscall.Stat_t
	err = syscall.Fstat(fd, &sys)
	_ = syscall.Close(fd)
	return statOfSystem(&sys), err == nil, err
}

// open opens a file, unless done is false.
func (b *beneath) open(path string, flag int) (f *os.File, done bool, err error) {
	if !b.is(path) {
		return nil, false, nil
	}
	fd, err := b.call(path, flag|syscall.O_LARGEFILE)
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist), err
	}
	return os.NewFile(uintptr(fd), filepath.Join(b.dir.Name(), path)), true, nil
}

// directory opens a directory for calls with a name in it, unless done is false.
func (b *beneath) directory(path string) (fd int, done bool, err error) {
	if !b.use {
		return 0, false, nil
	}
	fd, err = b.call(path, pathOnly|syscall.O_DIRECTORY)
	return fd, err == nil || errors.Is(err, fs.ErrNotExist), err
}

// fstatat are the numbers of newfstatat(2) or fstatat64(2), which fill a syscall.Stat_t.
var fstatat = map[string]uintptr{
	"386": 300, "amd64": 262, "arm": 327, "arm64": 79, "ppc64": 291, "ppc64le": 291, "riscv64": 79, "s390x": 293,
}

// lstatIn returns the attributes of a name in an open directory, unless done is false.
func lstatIn(dir *os.File, name string) (st stat, done bool, err error) {
	call, ok := fstatat[runtime.GOARCH]
	b, err := syscall.BytePtrFromString(name)
	if !ok || err != nil {
		return st, false, err
	}
	var sys syscall.Stat_t
	_, _, errno := syscall.Syscall6(call, dir.Fd(), uintptr(unsafe.Pointer(b)), uintptr(unsafe.Pointer(&sys)), noFollow, 0, 0)
	if errno != 0 {
		return st, true, &fs.PathError{Op: "fstatat", Path: name, Err: errno}
	}
	return statOfSystem(&sys), true, nil
}

// statOfSystem returns the attributes in the result of stat(2).
func statOfSystem(st *syscall.Stat_t) stat {
	dev, rdev := uint64(st.Dev), uint64(st.Rdev)
	return stat{dev: dev, Attr: vfs.Attr{
		Mode: modeOf(st.Mode), Links: uint32(st.Nlink),
		UID: st.Uid, GID: st.Gid, Size: uint64(st.Size), Used: uint64(st.Blocks) * 512,
		Major: uint32(rdev>>8&0xfff | rdev>>32&^0xfff), Minor: uint32(rdev&0xff | rdev>>12&^0xff),
		FSID: dev, Ino: st.Ino,
		Atime: time.Unix(st.Atim.Unix()), Mtime: time.Unix(st.Mtim.Unix()), Ctime: time.Unix(st.Ctim.Unix()),
	}}
}

// kinds are the types of package fs by the types of the system.
var kinds = map[uint32]fs.FileMode{
	syscall.S_IFREG: 0, syscall.S_IFDIR: fs.ModeDir, syscall.S_IFLNK: fs.ModeSymlink, syscall.S_IFIFO: fs.ModeNamedPipe,
	syscall.S_IFSOCK: fs.ModeSocket, syscall.S_IFBLK: fs.ModeDevice, syscall.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice,
}

func modeOf(m uint32) fs.FileMode {
	mode := kinds[m&syscall.S_IFMT] | fs.FileMode(m&0o777)
	if m&syscall.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&syscall.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
