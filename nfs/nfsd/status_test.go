package nfsd_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// A system error becomes the status with the same meaning, which a client gives to its programs by
// number (RFC 1813 §2.6). An error without such a status becomes an I/O error.
func TestStatusOfSystemErrors(t *testing.T) {
	for errno, code := range map[syscall.Errno]nfs3.Status{
		syscall.EPERM: 1, syscall.ENOENT: 2, syscall.EIO: 5, syscall.ENXIO: 6, syscall.EACCES: 13, syscall.EEXIST: 17,
		syscall.EXDEV: 18, syscall.ENODEV: 19, syscall.ENOTDIR: 20, syscall.EISDIR: 21, syscall.EINVAL: 22,
		syscall.EFBIG: 27, syscall.ENOSPC: 28, syscall.EROFS: 30, syscall.EMLINK: 31, syscall.ENAMETOOLONG: 63,
		syscall.ENOTEMPTY: 66, syscall.EDQUOT: 69,
		// Later there are descriptors again.
		syscall.EMFILE: nfs3.StatusJukebox, syscall.ENFILE: nfs3.StatusJukebox,
		syscall.ELOOP: nfs3.StatusIO, syscall.ENOMEM: nfs3.StatusIO,
	} {
		for _, err := range []error{errno, &os.PathError{Op: "open", Path: "x", Err: errno}, errors.Join(errno, errors.New("other"))} {
			want(t, fmt.Sprintf("%v", err), nfsd.StatusOf(err), code)
		}
	}
	want(t, "no error", nfsd.StatusOf(nil), nfs3.StatusOK)
	want(t, "an error without a number", nfsd.StatusOf(errors.New("x")), nfs3.StatusIO)
}

// The errors that package vfs has for file systems become the status with the same meaning, alone
// and wrapped. A system error next to one of them counts first.
func TestStatusOfNamedErrors(t *testing.T) {
	for err, code := range map[error]nfs3.Status{
		fs.ErrNotExist: 2, fs.ErrPermission: 13, fs.ErrExist: 17, fs.ErrInvalid: 22, errors.ErrUnsupported: 10004,
		vfs.ErrStale: 70, vfs.ErrBadCookie: 10003, vfs.ErrNotDir: 20, vfs.ErrIsDir: 21, vfs.ErrNotEmpty: 66,
		vfs.ErrReadOnly: 30, vfs.ErrNoSpace: 28, vfs.ErrTooLarge: 27, vfs.ErrNameTooLong: 63,
	} {
		want(t, err.Error(), nfsd.StatusOf(err), code)
		want(t, "wrapped: "+err.Error(), nfsd.StatusOf(fmt.Errorf("a file: %w", err)), code)
		want(t, "EROFS and "+err.Error(), nfsd.StatusOf(errors.Join(err, syscall.EROFS)), nfs3.StatusRofs)
	}
}
