package client

import (
	"context"
	"io/fs"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// Mkdir makes a directory.
func (c *Client) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	where, err := c.parent(ctx, name)
	if err != nil {
		return err
	}
	args, res := nfs3.MkDirArgs{Where: where, Attributes: SetMode(perm)}, nfs3.MkDirRes{}
	return c.do(ctx, "MKDIR", name, &res.Status, func() error { return c.nfs.MkDirInto(ctx, &args, &res, nil) })
}

// Remove removes a file that is not a directory.
func (c *Client) Remove(ctx context.Context, name string) error {
	where, err := c.parent(ctx, name)
	if err != nil {
		return err
	}
	args, res := nfs3.RemoveArgs{Object: where}, nfs3.RemoveRes{}
	return c.do(ctx, "REMOVE", name, &res.Status, func() error { return c.nfs.RemoveInto(ctx, &args, &res, nil) })
}

// Rmdir removes an empty directory.
func (c *Client) Rmdir(ctx context.Context, name string) error {
	where, err := c.parent(ctx, name)
	if err != nil {
		return err
	}
	args, res := nfs3.RmDirArgs{Object: where}, nfs3.RmDirRes{}
	return c.do(ctx, "RMDIR", name, &res.Status, func() error { return c.nfs.RmDirInto(ctx, &args, &res, nil) })
}

// Rename renames a file. It replaces a file that has the new name.
func (c *Client) Rename(ctx context.Context, from, to string) (err error) {
	var args nfs3.RenameArgs
	if args.From, err = c.parent(ctx, from); err != nil {
		return err
	}
	if args.To, err = c.parent(ctx, to); err != nil {
		return err
	}
	var res nfs3.RenameRes
	return c.do(ctx, "RENAME", to, &res.Status, func() error { return c.nfs.RenameInto(ctx, &args, &res, nil) })
}

// Link makes a hard link: name becomes a further name of the file old.
func (c *Client) Link(ctx context.Context, old, name string) error {
	n, err := c.walk(ctx, old)
	if err != nil {
		return err
	}
	where, err := c.parent(ctx, name)
	if err != nil {
		return err
	}
	args, res := nfs3.LinkArgs{File: n.handle, Link: where}, nfs3.LinkRes{}
	return c.do(ctx, "LINK", name, &res.Status, func() error { return c.nfs.LinkInto(ctx, &args, &res, nil) })
}

// Symlink makes a symbolic link. target may be any text.
func (c *Client) Symlink(ctx context.Context, target, name string) error {
	where, err := c.parent(ctx, name)
	if err != nil {
		return err
	}
	args := nfs3.SymLinkArgs{Where: where, SymLink: nfs3.SymLinkData{Attributes: SetMode(0o777), Path: nfs3.Path(target)}}
	var res nfs3.SymLinkRes
	return c.do(ctx, "SYMLINK", name, &res.Status, func() error { return c.nfs.SymLinkInto(ctx, &args, &res, nil) })
}
