package nfs

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Null calls procedure 0, which does nothing.
func (c *Client) Null(ctx context.Context) error {
	return c.calls.Call(ctx, nfs3.ProcNull, nil, nil, nil)
}

// FSInfo returns the limits of the server for a file system.
func (c *Client) FSInfo(ctx context.Context, root nfs3.Handle) (*nfs3.FSInfoResOK, error) {
	var res nfs3.FSInfoRes
	err := c.call(ctx, nfs3.ProcFSInfo, &nfs3.FSInfoArgs{FSRoot: root}, &res, &res.Status, nil)
	return &res.OK, err
}

// GetAttr returns the attributes of an object.
func (c *Client) GetAttr(ctx context.Context, h nfs3.Handle) (*nfs3.Attr, error) {
	var res nfs3.GetAttrRes
	err := c.call(ctx, nfs3.ProcGetAttr, &nfs3.GetAttrArgs{Object: h}, &res, &res.Status, nil)
	return &res.OK.ObjAttributes, err
}

// Lookup returns the handle of a name in a directory.
func (c *Client) Lookup(ctx context.Context, dir nfs3.Handle, name string) (nfs3.Handle, error) {
	var res nfs3.LookupRes
	err := c.call(ctx, nfs3.ProcLookup, &nfs3.LookupArgs{What: in(dir, name)}, &res, &res.Status, nil)
	return res.OK.Object, err
}

func in(dir nfs3.Handle, name string) nfs3.DirOpArgs {
	return nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename(name)}
}

// Unchecked is the way of CREATE that takes a file which exists.
func Unchecked(mode nfs3.Mode) nfs3.CreateHow {
	return nfs3.CreateHow{Mode: nfs3.CreateModeUnchecked, ObjAttributes: nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: mode}}}
}

// Exclusive is the way of CREATE that may be repeated with the same verifier. With another one it
// fails if the file exists (RFC 1813 §3.3.8).
func Exclusive(verf nfs3.CreateVerf) nfs3.CreateHow {
	return nfs3.CreateHow{Mode: nfs3.CreateModeExclusive, Verf: verf}
}

// Create creates a file, and returns its handle.
func (c *Client) Create(ctx context.Context, dir nfs3.Handle, name string, how nfs3.CreateHow) (nfs3.Handle, error) {
	var res nfs3.CreateRes
	if err := c.call(ctx, nfs3.ProcCreate, &nfs3.CreateArgs{Where: in(dir, name), How: how}, &res, &res.Status, nil); err != nil {
		return nfs3.Handle{}, err
	}
	if !res.OK.Obj.HandleFollows { // a server may leave it out
		return c.Lookup(ctx, dir, name)
	}
	return res.OK.Obj.Handle, nil
}

// Write writes data at an offset. The result has the number of bytes that the server wrote, which
// may be fewer, and its verifier.
func (c *Client) Write(ctx context.Context, file nfs3.Handle, offset uint64, data []byte, stable nfs3.StableHow) (*nfs3.WriteResOK, error) {
	var res nfs3.WriteRes
	args := nfs3.WriteArgs{File: file, Offset: nfs3.Offset(offset), Count: nfs3.Count(len(data)), Stable: stable, Data: data}
	if err := c.call(ctx, nfs3.ProcWrite, &args, &res, &res.Status, nil); err != nil {
		return nil, err
	}
	if n := int(res.OK.Count); n > len(data) || n == 0 && len(data) > 0 {
		return nil, fmt.Errorf("nfs: WRITE of %d bytes: the server wrote %d (RFC 1813 §3.3.7)", len(data), n)
	}
	return &res.OK, nil
}

// Commit stores the bytes that were written without being stable. It returns the verifier that the
// writes had, unless the server has lost them since.
func (c *Client) Commit(ctx context.Context, file nfs3.Handle) (nfs3.WriteVerf, error) {
	var res nfs3.CommitRes
	err := c.call(ctx, nfs3.ProcCommit, &nfs3.CommitArgs{File: file}, &res, &res.Status, nil)
	return res.OK.Verf, err
}

// Read reads from an offset into buf. It returns the number of bytes read, which may be fewer, and
// whether the file ends there.
func (c *Client) Read(ctx context.Context, file nfs3.Handle, offset uint64, buf []byte) (n int, eof bool, err error) {
	opt := &rpc.Options{Results: [][]byte{buf}}
	if c.long {
		opt = &rpc.Options{ReplyBuf: replyBuf(len(buf))}
	}
	var res nfs3.ReadRes
	args := nfs3.ReadArgs{File: file, Offset: nfs3.Offset(offset), Count: nfs3.Count(len(buf))}
	if err := c.call(ctx, nfs3.ProcRead, &args, &res, &res.Status, opt); err != nil {
		return 0, false, err
	}
	n = len(res.OK.Data)
	if n != int(res.OK.Count) || n > len(buf) {
		return 0, false, fmt.Errorf("nfs: READ of %d bytes: found %d bytes and a count of %d (RFC 1813 §3.3.6)", len(buf), n, res.OK.Count)
	}
	copy(buf, res.OK.Data) // it is buf already if a carrier has placed it there, as RDMA does
	return n, res.OK.EOF, nil
}

// ReadLink returns the path of a symbolic link of at most most bytes.
func (c *Client) ReadLink(ctx context.Context, link nfs3.Handle, most int) (string, error) {
	opt := &rpc.Options{Results: [][]byte{make([]byte, most)}}
	if c.long {
		opt = &rpc.Options{ReplyBuf: replyBuf(most)}
	}
	var res nfs3.ReadLinkRes
	err := c.call(ctx, nfs3.ProcReadLink, &nfs3.ReadLinkArgs{SymLink: link}, &res, &res.Status, opt)
	return string(res.OK.Path), err
}

// SymLink creates a symbolic link to a path.
func (c *Client) SymLink(ctx context.Context, dir nfs3.Handle, name, path string) error {
	var res nfs3.SymLinkRes
	args := nfs3.SymLinkArgs{Where: in(dir, name), SymLink: nfs3.SymLinkData{Path: nfs3.Path(path)}}
	return c.call(ctx, nfs3.ProcSymLink, &args, &res, &res.Status, nil)
}

// Remove removes a file or a symbolic link.
func (c *Client) Remove(ctx context.Context, dir nfs3.Handle, name string) error {
	var res nfs3.RemoveRes
	return c.call(ctx, nfs3.ProcRemove, &nfs3.RemoveArgs{Object: in(dir, name)}, &res, &res.Status, nil)
}

// ReadDir returns all entries of a directory. Each reply has at most count bytes of entries.
// Replies that do not fit inline come by reply chunk.
func (c *Client) ReadDir(ctx context.Context, dir nfs3.Handle, count int) ([]nfs3.Entry, error) {
	var all []nfs3.Entry
	args := nfs3.ReadDirArgs{Dir: dir, Count: nfs3.Count(count)}
	for {
		var res nfs3.ReadDirRes
		if err := c.call(ctx, nfs3.ProcReadDir, &args, &res, &res.Status, &rpc.Options{ReplyBuf: replyBuf(count)}); err != nil {
			return nil, err
		}
		list := res.OK.Reply
		all = append(all, list.Entries...)
		if list.EOF {
			return all, nil
		}
		if len(list.Entries) == 0 {
			return nil, fmt.Errorf("nfs: READDIR of %d bytes: found no entry and more to come (RFC 1813 §3.3.16)", count)
		}
		args.Cookie, args.CookieVerf = list.Entries[len(list.Entries)-1].Cookie, res.OK.CookieVerf
	}
}
