package nfs4

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
)

// Errors of Session.Do, for errors.Is.
var (
	// ErrReplyLost means that the server may have executed the COMPOUND, or a part of it, and that
	// its reply cannot be had any more, because the session was lost.
	ErrReplyLost = errors.New("the reply is lost with its session: the server may have executed the COMPOUND")
	// ErrClosed means that the Session was closed.
	ErrClosed = errors.New("the session is closed")

	errLost      = errors.New("the session is lost")
	errDirection = errors.New("nfs4: a client writes arguments and reads results")
)

// StatusError is the refusal of an operation. It matches fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission, fs.ErrInvalid and errors.ErrUnsupported by errors.Is.
type StatusError struct {
	Op     nfs42ext.Op
	Index  int // of the operation in the Compound; -1 for SEQUENCE and for the whole COMPOUND
	Status nfs42ext.Status
}

// Error returns the operation, the status, and for some what to try.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%v: %v", e.Op, e.Status)
	if e.Op == 0 {
		text = fmt.Sprintf("COMPOUND: %v", e.Status)
	}
	if help := statusHelp[e.Status]; help != "" {
		text += ": " + help
	}
	return text
}

var statusHelp = map[nfs42ext.Status]string{
	nfs42ext.StatusPerm:              "the server refuses this user: choose another UID, or see the export's options",
	nfs42ext.StatusWrongsec:          "the export demands another security flavor than AUTH_SYS",
	nfs42ext.StatusMinorVersMismatch: "the server lacks this minor version: try Config.Minor 1",
	nfs42ext.StatusClidInuse:         "another user has a client of this name: set Config.Owner",
	nfs42ext.StatusGrace:             "the server has restarted, and waits for its former clients",
	nfs42ext.StatusStale:             "the file was removed, or the export changed: open it again by its name",
}

// Is reports whether the status means the same as target, an error of package fs or errors.
func (e *StatusError) Is(target error) bool {
	switch e.Status {
	case nfs42ext.StatusNoent:
		return target == fs.ErrNotExist
	case nfs42ext.StatusExist, nfs42ext.StatusNotempty:
		return target == fs.ErrExist
	case nfs42ext.StatusPerm, nfs42ext.StatusAccess:
		return target == fs.ErrPermission
	case nfs42ext.StatusNotsupp, nfs42ext.StatusOpIllegal, nfs42ext.StatusAttrnotsupp:
		return target == errors.ErrUnsupported
	case nfs42ext.StatusInval:
		return target == fs.ErrInvalid
	}
	return false
}

// Refused reports whether an error is a StatusError with a status.
func Refused(err error, status nfs42ext.Status) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Status == status
}

// ProtocolError is a reply of the server that breaks a rule of the RFCs.
type ProtocolError struct {
	Rule string // the value found, the value expected, and the section
}

// Error returns the rule.
func (e *ProtocolError) Error() string { return "the server breaks a rule: found " + e.Rule }

func violation(format string, args ...any) error {
	return &ProtocolError{Rule: fmt.Sprintf(format, args...)}
}
