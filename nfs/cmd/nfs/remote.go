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
	return version3{ctx, c}, name, nil
}

// version3 is a server by NFS version 3.
type version3 struct {
	ctx context.Context
	c   *client.Client
}

func (r version3) stat(name string) (fs.FileInfo, error) { return info(r.c.Stat(r.ctx, name)) }
func (r version3) readLink(name string) (string, error)  { return r.c.ReadLink(r.ctx, name) }
func (r version3) mkdir(name string) error               { return r.c.Mkdir(r.ctx, name, 0o700) }
func (r version3) chmod(name string, perm fs.FileMode) error {
	return r.c.SetAttr(r.ctx, name, client.SetMode(perm))
}
func (r version3) symlink(target, name string) error { return r.c.Symlink(r.ctx, target, name) }
func (r version3) remove(name string) error          { return r.c.Remove(r.ctx, name) }
func (r version3) rename(from, to string) error      { return r.c.Rename(r.ctx, from, to) }
func (r version3) Close() error                      { return r.c.Close() }

func (r version3) open(name string) (source, error) {
	f, err := r.c.Open(r.ctx, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r version3) create(name string) (sink, error) {
	f, err := r.c.OpenFile(r.ctx, name, os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// info returns a description as an interface, nil with an error.
func info(i *client.Info, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (r version3) list(name string) iter.Seq2[fs.FileInfo, error] {
	return func(yield func(fs.FileInfo, error) bool) {
		for i, err := range r.c.ReadDir(r.ctx, name) {
			if !yield(info(i, err)) {
				return
			}
		}
	}
}

func (r version3) readFile(name string) ([]byte, error) {
	f, err := r.c.Open(r.ctx, name)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, maxNote+1)
	n, err := f.ReadAt(buf, 0)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], err
}

func (r version3) writeFile(name string, data []byte) error {
	f, err := r.c.Create(r.ctx, name, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

func (r version3) setAttr(name string, info fs.FileInfo) error {
	attr := client.SetTimes(info.ModTime(), info.ModTime())
	attr.Mode = client.SetMode(info.Mode().Perm()).Mode
	return r.c.SetAttr(r.ctx, name, attr)
}

// setLinkTime sets the time of a link. RFC 1813 §3.3.2 lets a server refuse that.
func (r version3) setLinkTime(name string, at time.Time) error {
	err := r.c.SetAttr(r.ctx, name, client.SetTimes(at, at))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		return nil
	}
	return err
}
