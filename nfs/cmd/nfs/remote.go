package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
)

// remote is the files of a server, by one version of NFS. All its methods may be called from
// several goroutines.
type remote interface {
	side
	open(name string) (source, error)
	create(name string) (sink, error) // opens a file to write, and makes it with mode 0600
	io.Closer
}

// source is a file of a server that is read.
type source interface {
	// CopyTo writes n bytes from an offset to w, in order. It returns the number written, also with
	// an error.
	CopyTo(w io.Writer, off, n int64) (int64, error)
	io.Closer
}

// sink is a file of a server that is written.
type sink interface {
	Truncate(size int64) error
	// CopyFrom writes n bytes from an offset of r at the same offset. It calls stored, with the
	// offset up to which the data are stored, after each window and at the end.
	CopyFrom(r io.ReaderAt, off, n int64, stored func(int64) error) error
	io.Closer
}

// attributes are those that only files of a server have, or only the list prints.
type attributes struct {
	mode, links, uid, gid uint32
	used, fileID          uint64
}

// attributesOf returns the attributes of a server's file, and zeros for a local file.
func attributesOf(info fs.FileInfo) attributes {
	switch a := info.Sys().(type) {
	case *nfs3.Attr:
		return attributes{
			mode: uint32(a.Mode), links: a.Nlink, uid: uint32(a.UID), gid: uint32(a.GID), used: uint64(a.Used), fileID: uint64(a.FileID),
		}
	case *nfs42ext.Attributes:
		return attributes{
			mode: uint32(a.Mode), links: uint32(a.NumLinks), uid: userNumber(a.Owner), gid: userNumber(a.OwnerGroup),
			used: uint64(a.SpaceUsed), fileID: uint64(a.FileID),
		}
	}
	return attributes{}
}

// dial connects to the server of a target, HOST:/PATH, and returns the path's name there.
func (p *program) dial(ctx context.Context, target string) (remote, string, error) {
	if minors[p.vers] != 0 {
		return p.dial4(ctx, target)
	}
	c, name, err := client.Dial(ctx, target, &p.cfg)
	if err != nil {
		return nil, "", &unreachable{err}
	}
	return &server[*client.Info, *client.File]{ctx, c, func(name string, mode *fs.FileMode, at *time.Time) error {
		var set nfs3.SetAttr
		if at != nil {
			set = client.SetTimes(*at, *at)
		}
		if mode != nil {
			set.Mode = client.SetMode(*mode).Mode
		}
		return c.SetAttr(ctx, name, set)
	}}, name, nil
}

// file is an open file of a server.
type file interface {
	source
	sink
	io.ReaderAt
	io.WriterAt
}

// files are a server's files, as the clients of all versions of NFS have them.
type files[Info fs.FileInfo, File file] interface {
	Stat(ctx context.Context, name string) (Info, error)
	ReadLink(ctx context.Context, name string) (string, error)
	ReadDir(ctx context.Context, name string) iter.Seq2[Info, error]
	Mkdir(ctx context.Context, name string, perm fs.FileMode) error
	Symlink(ctx context.Context, target, name string) error
	Remove(ctx context.Context, name string) error
	Rename(ctx context.Context, from, to string) error
	OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (File, error)
	Close() error
}

// server is a server by one version of NFS. It implements remote.
type server[Info fs.FileInfo, File file] struct {
	ctx context.Context
	c   files[Info, File]
	// change sets the permissions and both times, unless they are nil.
	change func(name string, mode *fs.FileMode, at *time.Time) error
}

func (r *server[I, F]) stat(name string) (fs.FileInfo, error) {
	return described(r.c.Stat(r.ctx, name))
}
func (r *server[I, F]) readLink(name string) (string, error) { return r.c.ReadLink(r.ctx, name) }
func (r *server[I, F]) mkdir(name string) error              { return r.c.Mkdir(r.ctx, name, 0o700) }
func (r *server[I, F]) symlink(target, name string) error    { return r.c.Symlink(r.ctx, target, name) }
func (r *server[I, F]) remove(name string) error             { return r.c.Remove(r.ctx, name) }
func (r *server[I, F]) rename(from, to string) error         { return r.c.Rename(r.ctx, from, to) }
func (r *server[I, F]) Close() error                         { return r.c.Close() }

func (r *server[I, F]) chmod(name string, perm fs.FileMode) error { return r.change(name, &perm, nil) }

func (r *server[I, F]) open(name string) (source, error) {
	f, err := r.c.OpenFile(r.ctx, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r *server[I, F]) create(name string) (sink, error) {
	f, err := r.c.OpenFile(r.ctx, name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// described returns a description as an interface, nil with an error.
func described[I fs.FileInfo](i I, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (r *server[I, F]) list(name string) iter.Seq2[fs.FileInfo, error] {
	return func(yield func(fs.FileInfo, error) bool) {
		for i, err := range r.c.ReadDir(r.ctx, name) {
			if !yield(described(i, err)) {
				return
			}
		}
	}
}

func (r *server[I, F]) readFile(name string) ([]byte, error) {
	f, err := r.c.OpenFile(r.ctx, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, maxNote+1)
	n, err := f.ReadAt(buf, 0)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], errors.Join(err, f.Close())
}

func (r *server[I, F]) writeFile(name string, data []byte) error {
	f, err := r.c.OpenFile(r.ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

func (r *server[I, F]) setAttr(name string, info fs.FileInfo) error {
	mode, at := info.Mode().Perm(), info.ModTime()
	return r.change(name, &mode, &at)
}

// setLinkTime sets the time of a link, unless the server does not do that (RFC 1813 §3.3.2).
func (r *server[I, F]) setLinkTime(name string, at time.Time) error {
	err := r.change(name, nil, &at)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		return nil
	}
	return err
}
