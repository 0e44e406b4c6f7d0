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
// goes through no symbolic link, not out of the directory, and into nothing that is mounted in it.
// What it does not do is left to os.Root, which opens each directory of a path: errors other than
// that there is no such name, paths through links, older kernels, and sandboxes that refuse the
// call.
type beneath struct {
	dir   *os.File
	use   bool
	statx bool // the system has statx(2), since Linux 4.11
	chmod bool // the system has fchmodat2(2), since Linux 6.6
}

// how is struct open_how of openat2(2).
type how struct{ flags, mode, resolve uint64 }

const (
	openat2     = 437     // on all architectures that generations are for
	pathOnly    = 1 << 21 // O_PATH
	noMounts    = 0x01    // RESOLVE_NO_XDEV
	noSymlinks  = 0x04    // RESOLVE_NO_SYMLINKS
	onlyBeneath = 0x08    // RESOLVE_BENEATH
	noFollow    = 0x100   // AT_SYMLINK_NOFOLLOW
	emptyPath   = 0x1000  // AT_EMPTY_PATH
)

func newBeneath(dir *os.File) beneath {
	b := beneath{dir: dir}
	b.chmod = syscall.Fchmodat(int(dir.Fd()), "", 0, noFollow) == syscall.ENOENT
	_, err := statx(int(dir.Fd()), ".")
	b.statx = err == nil
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
	h := how{flags: uint64(flags | syscall.O_CLOEXEC | syscall.O_NOFOLLOW), resolve: noMounts | noSymlinks | onlyBeneath}
	n, _, errno := syscall.Syscall6(openat2, b.dir.Fd(), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&h)), unsafe.Sizeof(h), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EXDEV: // something is mounted over the path
		return 0, vfs.ErrStale
	}
	return 0, &fs.PathError{Op: "openat2", Path: path, Err: errno}
}

// certain reports whether os.Root would not find a file that openat2 does not find.
func certain(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrStale) }

// lstat returns the attributes of an object, unless done is false: then os.Root has to.
func (b *beneath) lstat(path string) (st stat, done bool, err error) {
	if !b.use {
		return st, false, nil
	}
	if !strings.Contains(path, "/") && path != "." && b.statx {
		st, err = statx(int(b.dir.Fd()), path)
		return st, true, err
	}
	fd, err := b.call(path, pathOnly)
	if err != nil {
		return st, certain(err), err
	}
	var sys syscall.Stat_t
	err = syscall.Fstat(fd, &sys)
	_ = syscall.Close(fd)
	return statOfSystem(&sys), err == nil, err
}

// open opens a file, unless done is false.
func (b *beneath) open(path string, flag int) (f *os.File, done bool, err error) {
	fd, done, err := b.descriptor(path, flag|syscall.O_LARGEFILE)
	if !done || err != nil {
		return nil, done, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(b.dir.Name(), path)), true, nil
}

// descriptor opens an object, unless done is false.
func (b *beneath) descriptor(path string, flag int) (fd int, done bool, err error) {
	if !b.use {
		return 0, false, nil
	}
	fd, err = b.call(path, flag)
	return fd, err == nil || certain(err), err
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
