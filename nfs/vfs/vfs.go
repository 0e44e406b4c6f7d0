package vfs

import (
	"io"
	"io/fs"
	"time"
)

// ID names a file of an FS, as the package comment says. Its bytes are the FS's own, and not
// secret: the server adds a MAC, so that a client cannot make one up.
type ID [16]byte

// MaxName is the longest name in bytes. An FS may have a smaller limit.
const MaxName = 255

// FS is a file system. Its methods are safe for concurrent use.
type FS interface {
	// Info returns facts that stay the same while the FS is used.
	Info() Info

	// Root returns the directory that is served.
	Root() (Node, Attr, error)

	// Resolve returns the Node of an ID that Node.ID returned. If there is no such file any more,
	// or never was one, the error is ErrStale.
	Resolve(id ID) (Node, Attr, error)

	// Space returns how much an FS holds.
	Space() (Space, error)
}

// Node is a file, directory, symbolic link or other object of an FS, found for one call. The
// methods that are for directories return ErrNotDir for others. Nodes among the arguments are of
// the same FS.
type Node interface {
	// ID returns the ID of the Node. A Node of Lookup or Create may get its ID only now: an FS can
	// fail to note it, and then returns ErrNoSpace or another error.
	ID() (ID, error)

	// Attr returns the attributes as they are now.
	Attr() (Attr, error)

	// SetAttr changes attributes. The type of an object does not change. It returns
	// errors.ErrUnsupported for attributes that objects of this type do not have.
	SetAttr(c Change) error

	// Open opens a regular file, or a directory to sync it. For others the error is fs.ErrInvalid.
	// The caller closes the File.
	Open(access Access) (File, error)

	// ReadLink returns the target of a symbolic link. For others the error is fs.ErrInvalid.
	ReadLink() (string, error)

	// ReadDir calls f with the entries of a directory after the entry with a cookie, or from the
	// first on if the cookie is 0, until f returns false. eof reports whether f got the last entry.
	// A listing in several calls has each entry once that exists from the first to the last call,
	// while other entries come and go; cookies stay valid that long, and longer. A cookie that the
	// directory never had is answered by ErrBadCookie or by any part of the listing.
	// Entries for "." and ".." may be among the others; f may call Lookup.
	ReadDir(cookie uint64, f func(e Entry) bool) (eof bool, err error)

	// Lookup returns the object with a name in a directory. "." is the directory itself, and ".."
	// its parent; the root is its own parent. For a name not in use, the error is
	// fs.ErrNotExist.
	Lookup(name string) (Node, Attr, error)

	// Create makes an object in a directory. If the name is in use, the error is fs.ErrExist, and
	// if the FS does not have objects of the type, errors.ErrUnsupported.
	Create(name string, n New) (Node, Attr, error)

	// Link gives this Node, not a directory, one more name. If the name is in use, the error
	// is fs.ErrExist.
	Link(dir Node, name string) error

	// Remove removes a name from a directory. An object without names is gone once its Files are
	// closed. A directory with names is not removed: ErrNotEmpty.
	Remove(name string) error

	// Rename gives an object of a directory another name, in the same directory or in another one.
	// It replaces the object that has the new name: a file by anything but a directory, an empty
	// directory by a directory. Otherwise the error is ErrIsDir, ErrNotDir or ErrNotEmpty. A
	// directory does not move into itself: fs.ErrInvalid. If both are names of one file, both
	// stay.
	Rename(name string, to Node, newName string) error
}

// File is an open file or directory. Its methods are safe for concurrent use. Those for data are
// not used with a directory.
type File interface {
	// ReadAt reads as io.ReaderAt says. The File was opened with Read.
	io.ReaderAt

	// WriteAt writes as io.WriterAt says. Bytes between the end of the file and the offset become
	// zero. It sets Mtime and Ctime. It does not keep p.
	io.WriterAt

	// Attr returns the attributes as they are now.
	Attr() (Attr, error)

	// Chmod sets the permission bits of Attr.Mode.
	Chmod(mode fs.FileMode) error

	// Truncate sets the size in bytes. New bytes are zero.
	Truncate(size int64) error

	// Sync blocks until changes are on the disk, as the package comment says.
	Sync() error

	// Close closes the File. It is not used afterwards.
	Close() error
}

// Access has the purposes of an open File.
type Access uint8

// The bits of an Access. Read or Write is set, or both.
const (
	Read  Access = 1 << iota // for ReadAt, or to sync a directory
	Write                    // for WriteAt, Chmod, Truncate and Sync
	// Force opens a file whose mode forbids that to the user of the process, if this user owns the
	// file. The server has checked the rights of the caller. An FS in which the mode bits do not
	// bind the process ignores it.
	Force
)

// Info has facts about an FS.
type Info struct {
	// ReadOnly says that there are no changes: the methods for them return ErrReadOnly.
	ReadOnly bool

	// Single says that all new objects belong to the user UID of group GID, and that SetAttr gives
	// none to others: all callers act as this user.
	Single   bool
	UID, GID uint32
}

// Space is the size of an FS.
type Space struct {
	Bytes, FreeBytes uint64
	AvailBytes       uint64 // for users other than root
	Files, FreeFiles uint64
}

// Attr has the attributes of a file.
type Attr struct {
	Mode                fs.FileMode // type, permissions, setuid, setgid and sticky bits
	Links               uint32      // names of the file
	UID, GID            uint32
	Size                uint64 // in bytes
	Used                uint64 // space that it takes, in bytes
	Major, Minor        uint32 // of devices
	FSID                uint64 // the same for all files of an FS
	Ino                 uint64 // no two files have the same at one time
	Atime, Mtime, Ctime time.Time
}

// Change has attributes to set. Those that are nil, or the zero time, stay as they are. The server
// sets no ID to 2^32-1, which stands for no user and no group.
type Change struct {
	UID, GID     *uint32
	Mode         *fs.FileMode // permissions, setuid, setgid and sticky bits
	Atime, Mtime time.Time
}

// New describes an object to make.
type New struct {
	Mode         fs.FileMode // type and permissions
	Target       string      // of a symbolic link
	Major, Minor uint32      // of a device
}

// Entry is a name in a directory.
type Entry struct {
	Name   string
	Ino    uint64
	Cookie uint64 // not 0
}
