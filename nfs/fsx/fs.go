package fsx

// FS is a file system, or a directory in one. Names are paths from there, with slashes. Its methods
// are called by one goroutine at a time. Their errors match fs.ErrExist and fs.ErrNotExist with
// errors.Is, where the package says so.
type FS interface {
	// Mkdir makes a directory.
	Mkdir(name string) error

	// Create makes an empty file and opens it. If the name is in use, the error is fs.ErrExist.
	Create(name string) (File, error)

	// Open opens a file to read and to write. If the file does not exist, the error is
	// fs.ErrNotExist.
	Open(name string) (File, error)

	// Rename gives a file another name. It replaces the file that has the name.
	Rename(from, to string) error

	// Remove removes a file. If the file does not exist, the error is fs.ErrNotExist.
	Remove(name string) error

	// ReadDir returns the names in a directory, without . and .., in any order.
	ReadDir(name string) ([]string, error)
}

// Linker is an FS with hard links. Without this interface a Tester makes no links.
type Linker interface {
	// Link gives a file one more name. If it is in use, the error is fs.ErrExist.
	Link(name, link string) error
}

// File is an open file. It stays valid when the file gets another name.
type File interface {
	// ReadAt reads as io.ReaderAt: fewer bytes only at the end of the file, with io.EOF.
	ReadAt(p []byte, off int64) (int, error)

	// WriteAt writes as io.WriterAt. Bytes between the end of the file and off become zero.
	WriteAt(p []byte, off int64) (int, error)

	// Append writes at the end of the file.
	Append(p []byte) (int, error)

	// Truncate sets the size of the file. New bytes are zero.
	Truncate(size int64) error

	// Size returns the size of the file.
	Size() (int64, error)

	// Sync returns when the bytes written so far survive a crash of the file system.
	Sync() error

	// Close closes the File. It is not used afterwards.
	Close() error
}
