// Package fsxtest lets package fsx test a server through an NFS client of package client.
package fsxtest

import (
	"context"
	"os"
	"path"

	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/fsx"
)

// FS returns the files of a client. All calls fail when ctx is done.
func FS(ctx context.Context, c *client.Client) fsx.FS { return Dir(ctx, c, "") }

// Dir is FS for the files below dir.
func Dir(ctx context.Context, c *client.Client, dir string) fsx.FS { return &files{ctx, c, dir} }

type files struct {
	ctx context.Context
	c   *client.Client
	dir string
}

func (f *files) path(name string) string { return path.Join(f.dir, name) }

var _ fsx.Linker = (*files)(nil)

func (f *files) Mkdir(name string) error      { return f.c.Mkdir(f.ctx, f.path(name), 0o755) }
func (f *files) Rename(from, to string) error { return f.c.Rename(f.ctx, f.path(from), f.path(to)) }
func (f *files) Remove(name string) error     { return f.c.Remove(f.ctx, f.path(name)) }
func (f *files) Link(name, link string) error { return f.c.Link(f.ctx, f.path(name), f.path(link)) }

func (f *files) Create(name string) (fsx.File, error) { return f.open(name, os.O_CREATE|os.O_EXCL) }
func (f *files) Open(name string) (fsx.File, error)   { return f.open(name, 0) }

func (f *files) open(name string, flag int) (fsx.File, error) {
	opened, err := f.c.OpenFile(f.ctx, f.path(name), os.O_RDWR|flag, 0o644)
	if err != nil {
		return nil, err
	}
	return file{opened}, nil
}

func (f *files) ReadDir(name string) ([]string, error) {
	var names []string
	for info, err := range f.c.ReadDir(f.ctx, f.path(name)) {
		if err != nil {
			return nil, err
		}
		names = append(names, info.Name())
	}
	return names, nil
}

type file struct{ *client.File }

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Append asks for the size: NFS version 3 has no append.
func (f file) Append(p []byte) (int, error) {
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	return f.WriteAt(p, size)
}
