package client

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// StatusError is the refusal of a call by the server. It matches fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission and errors.ErrUnsupported by errors.Is.
type StatusError struct {
	Op     string // the procedure, such as LOOKUP
	Name   string // the file
	Status nfs3.Status
}

// Error returns the procedure, the file, the status and, for some, what to try.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %q: %v", e.Op, e.Name, e.Status)
	if help := help[e.Status]; help != "" {
		text += ": " + help
	}
	return text
}

var help = map[nfs3.Status]string{
	nfs3.StatusPerm:        "the server refuses this user: choose another UID, or see the export's options insecure and no_root_squash",
	nfs3.StatusNoent:       "there is no such file",
	nfs3.StatusAcces:       "the permissions refuse this user: choose another UID or GID; for most servers root is a user without rights, unless the export has no_root_squash, or nfsserve -allow-root",
	nfs3.StatusExist:       "there is such a file already",
	nfs3.StatusNotdir:      "an element of the path is a file or a symbolic link, and links are not followed",
	nfs3.StatusIsdir:       "it is a directory",
	nfs3.StatusNametoolong: "the server's file system allows no name of this length",
	nfs3.StatusRofs:        "the export is read-only",
	nfs3.StatusNospc:       "the server's disk is full",
	nfs3.StatusDquot:       "the user's quota is used up",
	nfs3.StatusStale:       "the file was removed, or the export changed: open it again by its name",
	nfs3.StatusBadhandle:   "the server does not know the handle: mount the export again",
	nfs3.StatusServerfault: "the server failed: its log may say why",
}

// Is reports whether the status means the same as target, an error of package fs or errors.
func (e *StatusError) Is(target error) bool {
	switch e.Status {
	case nfs3.StatusNoent:
		return target == fs.ErrNotExist
	case nfs3.StatusExist, nfs3.StatusNotempty:
		return target == fs.ErrExist
	case nfs3.StatusPerm, nfs3.StatusAcces:
		return target == fs.ErrPermission
	case nfs3.StatusNotsupp:
		return target == errors.ErrUnsupported
	case nfs3.StatusInval:
		return target == fs.ErrInvalid
	}
	return false
}

// refused reports whether an error is the refusal of a call with a status.
func refused(err error, status nfs3.Status) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Status == status
}

// missing is the refusal of a call by RPC, of a server without the procedure. It matches
// errors.ErrUnsupported by errors.Is.
type missing struct{ error }

func (e missing) Unwrap() error { return e.error }

func (e missing) Is(target error) bool { return target == errors.ErrUnsupported }

// unsupported reports whether an error means that the server lacks the procedure. RFC 1813 §2.6
// has NFS3ERR_NOTSUPP for that, and some servers answer by RPC's PROC_UNAVAIL. A server without the
// program is something else.
func unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// ProtocolError is a reply of the server that breaks a rule of RFC 1813, or a limit of Config.
type ProtocolError struct {
	Op, Name string
	Rule     string // the value found, the value expected, and the section
}

// Error returns the procedure, the file and the rule.
func (e *ProtocolError) Error() string { return fmt.Sprintf("%s %q: %s", e.Op, e.Name, e.Rule) }

// ErrName means that a name is not a path below the root, or that a name from the server is not a
// single element of a path.
var ErrName = errors.New("unusable name")
