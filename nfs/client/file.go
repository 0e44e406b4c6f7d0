package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/internal/filedata"
)

// File is an open file. Its methods are safe for concurrent use; those that write run one at a
// time. Their calls use the context that the File was opened with.
type File struct {
	c      *Client
	ctx    context.Context
	name   string
	handle nfs3.Handle
	data   *filedata.File
}

var (
	_ io.ReaderAt = (*File)(nil)
	_ io.WriterAt = (*File)(nil)
	_ io.Closer   = (*File)(nil)
)

// Open opens a file for reading or writing: the server checks each call. ctx applies to all calls
// of the File, not only to this one.
func (c *Client) Open(ctx context.Context, name string) (*File, error) {
	return c.OpenFile(ctx, name, os.O_RDWR, 0)
}

// Create makes a file, or opens one and removes its data.
func (c *Client) Create(ctx context.Context, name string, perm fs.FileMode) (*File, error) {
	return c.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, perm)
}

// OpenFile is Open with the flags os.O_CREATE, os.O_EXCL and os.O_TRUNC, as os.OpenFile has them.
// Other flags have no effect.
func (c *Client) OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (*File, error) {
	var n node
	var err error
	if flag&os.O_CREATE != 0 {
		n, err = c.create(ctx, name, flag&os.O_EXCL != 0, perm)
	} else {
		n, err = c.walk(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	info, err := c.stat(ctx, n, name)
	if err != nil {
		return nil, err
	}
	switch info.Attr.Type {
	case nfs3.FileTypeReg:
	case nfs3.FileTypeDir:
		return nil, &StatusError{Op: "OPEN", Name: name, Status: nfs3.StatusIsdir}
	default:
		return nil, fmt.Errorf("%w: OPEN %q: found a file of type %v, expected a regular one", fs.ErrInvalid, name, info.Attr.Type)
	}
	f := &File{c: c, ctx: ctx, name: name, handle: n.handle}
	f.data = filedata.New(filedata.Config{
		Ctx: ctx, Name: name, Calls: calls{f}, ReadSize: c.rsize, WriteSize: c.wsize, Depth: c.cfg.Depth, Window: c.cfg.Window, NoCommit: &c.noCommit,
	})
	if flag&os.O_TRUNC != 0 && info.Attr.Size != 0 {
		return f, f.Truncate(0)
	}
	return f, nil
}

// create makes a file. CREATE never sets a size: if a lost connection makes the server execute the
// call late, it then harms no data.
func (c *Client) create(ctx context.Context, name string, exclusive bool, perm fs.FileMode) (n node, err error) {
	args := nfs3.CreateArgs{How: nfs3.CreateHow{Mode: nfs3.CreateModeUnchecked, ObjAttributes: SetMode(perm)}}
	if exclusive {
		args.How = nfs3.CreateHow{Mode: nfs3.CreateModeExclusive}
		_, _ = rand.Read(args.How.Verf[:]) // never fails
	}
	if args.Where, err = c.parent(ctx, name); err != nil {
		return n, err
	}
	var res nfs3.CreateRes
	if err := c.do(ctx, "CREATE", name, &res.Status, func() error { return c.nfs.CreateInto(ctx, &args, &res, nil) }); err != nil {
		return n, err
	}
	if n = (node{res.OK.Obj.Handle, res.OK.ObjAttributes}); !res.OK.Obj.HandleFollows {
		if n, err = c.lookup(ctx, args.Where.Dir, string(args.Where.Name), name); err != nil {
			return n, err
		}
	}
	if exclusive { // RFC 1813 §3.3.8: the server may have kept the verifier in the attributes
		n.attr = nfs3.PostOpAttr{}
		err = c.setAttr(ctx, n.handle, name, SetMode(perm))
	}
	return n, err
}

// Stat describes the file.
func (f *File) Stat() (*Info, error) {
	return f.c.stat(f.ctx, node{handle: f.handle}, f.name)
}

// SetAttr changes attributes: see SetMode, SetTimes and SetSize. It commits written data first.
func (f *File) SetAttr(attr nfs3.SetAttr) error {
	if err := f.Sync(); err != nil {
		return err
	}
	return f.c.setAttr(f.ctx, f.handle, f.name, attr)
}

// Truncate sets the size of the file.
func (f *File) Truncate(size int64) error { return f.SetAttr(SetSize(size)) }

// Close commits written data. The File must not be used after it.
func (f *File) Close() error { return f.Sync() }
