package vfs

import "errors"

// Errors of file systems, in addition to the errors of package fs.
var (
	// ErrStale says that the file of an ID or a Node does not exist any more.
	ErrStale = errors.New("vfs: the file does not exist any more")

	// ErrBadCookie says that a directory cannot be listed from a cookie on.
	ErrBadCookie = errors.New("vfs: not a cookie of this directory")

	// ErrNotDir says that an object is not a directory.
	ErrNotDir = errors.New("vfs: not a directory")

	// ErrIsDir says that an object is a directory.
	ErrIsDir = errors.New("vfs: is a directory")

	// ErrNotEmpty says that a directory has names.
	ErrNotEmpty = errors.New("vfs: the directory is not empty")

	// ErrReadOnly says that an FS takes no changes.
	ErrReadOnly = errors.New("vfs: the file system is read-only")

	// ErrNoSpace says that the file system is full.
	ErrNoSpace = errors.New("vfs: no space is left")

	// ErrTooLarge says that a file cannot have that size.
	ErrTooLarge = errors.New("vfs: the file would be too large")

	// ErrNameTooLong says that a name, or the target of a link, is longer than the FS keeps.
	ErrNameTooLong = errors.New("vfs: the name is too long")
)
