package fsx

import (
	"os"
	"path/filepath"
)

// OS returns the directory dir of this machine.
func OS(dir string) FS { return osFS{dir} }

type osFS struct{ dir string }

func (o osFS) path(name string) string { return filepath.Join(o.dir, filepath.FromSlash(name)) }

func (o osFS) Mkdir(name string) error        { return os.Mkdir(o.path(name), 0o777) }
func (o osFS) Rename(from, to string) error   { return os.Rename(o.path(from), o.path(to)) }
func (o osFS) Link(name, link string) error   { return os.Link(o.path(name), o.path(link)) }
func (o osFS) Remove(name string) error       { return os.Remove(o.path(name)) }
func (o osFS) Open(name string) (File, error) { return o.open(name, 0) }

func (o osFS) Create(name string) (File, error) { return o.open(name, os.O_CREATE|os.O_EXCL) }

func (o osFS) ReadDir(name string) ([]string, error) {
	entries, err := os.ReadDir(o.path(name))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// open opens a file twice: os.File writes either at an offset or at the end.
func (o osFS) open(name string, flags int) (File, error) {
	file, err := os.OpenFile(o.path(name), os.O_RDWR|flags, 0o666)
	if err != nil {
		return nil, err
	}
	end, err := os.OpenFile(o.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		file.Close()
		return nil, err
	}
	return osFile{file, end}, nil
}

type osFile struct {
	*os.File
	end *os.File
}

func (f osFile) Append(p []byte) (int, error) { return f.end.Write(p) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Close() error {
	err := f.end.Close()
	if closed := f.File.Close(); err == nil {
		err = closed
	}
	return err
}
