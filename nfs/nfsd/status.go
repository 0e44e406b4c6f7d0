package nfsd

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
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
	switch { // errors without a number, of package os
	case errors.Is(err, fs.ErrNotExist):
		return nfs3.StatusNoent
	case errors.Is(err, fs.ErrPermission):
		return nfs3.StatusAcces
	}
	return nfs3.StatusIO
}

// gone reports whether an error means that a path does not lead to a file any more. An error
// without a number is os.Root's: a symbolic link that leads out of the export is in place of a
// directory.
func gone(err error) bool {
	if err == nil {
		return false
	}
	var errno syscall.Errno
	return (!errors.As(err, &errno) || errors.Is(err, fs.ErrNotExist) ||
		errno == syscall.ENOTDIR || errno == syscall.ELOOP)
}

// maxName is the longest name in bytes. The file system may have a smaller limit.
const maxName = 255

// checkName refuses names that are not one component (RFC 1813 §3.2). "." and ".." pass.
func checkName(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "/\x00"):
		return failed(nfs3.StatusAcces)
	case len(name) > maxName:
		return failed(nfs3.StatusNametoolong)
	}
	return nil
}

// dots reports whether a name stands for the directory itself or for its parent.
func dots(name string) bool { return name == "." || name == ".." }
