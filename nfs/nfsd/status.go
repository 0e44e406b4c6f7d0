package nfsd

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// failed is an error with its status.
type failed nfs3.Status

func (f failed) Error() string { return nfs3.Status(f).String() }

// errnos lists the status for each system error that has one (RFC 1813 §2.6).
var errnos = []struct {
	errno  syscall.Errno
	status nfs3.Status
}{
	{syscall.ENOENT, nfs3.StatusNoent},
	{syscall.EEXIST, nfs3.StatusExist},
	{syscall.ENOTEMPTY, nfs3.StatusNotempty},
	{syscall.EPERM, nfs3.StatusPerm},
	{syscall.EACCES, nfs3.StatusAcces},
	{syscall.ENOTDIR, nfs3.StatusNotdir},
	{syscall.EISDIR, nfs3.StatusIsdir},
	{syscall.EINVAL, nfs3.StatusInval},
	{syscall.EFBIG, nfs3.StatusFbig},
	{syscall.ENOSPC, nfs3.StatusNospc},
	{syscall.EDQUOT, nfs3.StatusDquot},
	{syscall.EROFS, nfs3.StatusRofs},
	{syscall.EMLINK, nfs3.StatusMlink},
	{syscall.EXDEV, nfs3.StatusXdev},
	{syscall.ENAMETOOLONG, nfs3.StatusNametoolong},
	{syscall.ENXIO, nfs3.StatusNxio},
	{syscall.ENODEV, nfs3.StatusNodev},
	{syscall.EMFILE, nfs3.StatusJukebox}, // the client asks again
	{syscall.ENFILE, nfs3.StatusJukebox},
}

// named lists the status for each error without a number that package vfs has for file systems.
var named = []struct {
	err    error
	status nfs3.Status
}{
	{vfs.ErrStale, nfs3.StatusStale},
	{vfs.ErrBadCookie, nfs3.StatusBadCookie},
	{vfs.ErrNotDir, nfs3.StatusNotdir},
	{vfs.ErrIsDir, nfs3.StatusIsdir},
	{vfs.ErrNotEmpty, nfs3.StatusNotempty},
	{vfs.ErrReadOnly, nfs3.StatusRofs},
	{vfs.ErrNoSpace, nfs3.StatusNospc},
	{vfs.ErrTooLarge, nfs3.StatusFbig},
	{vfs.ErrNameTooLong, nfs3.StatusNametoolong},
	{fs.ErrNotExist, nfs3.StatusNoent},
	{fs.ErrExist, nfs3.StatusExist},
	{fs.ErrPermission, nfs3.StatusAcces},
	{fs.ErrInvalid, nfs3.StatusInval},
	{errors.ErrUnsupported, nfs3.StatusNotsupp},
}

// status returns the status of an error, NFS3_OK for nil.
func status(err error) nfs3.Status {
	if err == nil {
		return nfs3.StatusOK
	}
	var f failed
	if errors.As(err, &f) {
		return nfs3.Status(f)
	}
	for _, e := range errnos {
		if errors.Is(err, e.errno) {
			return e.status
		}
	}
	for _, e := range named {
		if errors.Is(err, e.err) {
			return e.status
		}
	}
	return nfs3.StatusIO
}

// checkName refuses names that are not one component (RFC 1813 §3.2). "." and ".." pass.
func checkName(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "/\x00"):
		return failed(nfs3.StatusAcces)
	case len(name) > vfs.MaxName:
		return failed(nfs3.StatusNametoolong)
	}
	return nil
}

// dots reports whether a name stands for the directory itself or for its parent.
func dots(name string) bool { return name == "." || name == ".." }
