package client4

import (
	"context"
	"io/fs"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// SetMode returns the attributes that set the permissions of a file.
func SetMode(m fs.FileMode) *nfs42ext.Attributes {
	bits := nfs42.Mode(m.Perm())
	for mode, bit := range map[fs.FileMode]nfs42.Mode{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&mode != 0 {
			bits |= bit
		}
	}
	return &nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrMode), Mode: bits}
}

// SetTimes returns the attributes that set the times of a file.
func SetTimes(atime, mtime time.Time) *nfs42ext.Attributes {
	set := func(t time.Time) nfs42.SetTime {
		return nfs42.SetTime{SetIt: nfs42.TimeHowClientTime, Time: nfs42.Time{Seconds: t.Unix(), Nseconds: uint32(t.Nanosecond())}}
	}
	return &nfs42ext.Attributes{
		Mask:          nfs42ext.AttributesMask(nfs42.AttrTimeAccessSet, nfs42.AttrTimeModifySet),
		TimeAccessSet: set(atime), TimeModifySet: set(mtime),
	}
}

// SetSize returns the attributes that set the size of a file.
func SetSize(size int64) *nfs42ext.Attributes {
	return &nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrSize), Size: nfs42.FattrSize(size)}
}

// SetAttr changes attributes of a file: see SetMode, SetTimes and SetSize.
func (c *Client) SetAttr(ctx context.Context, name string, attr *nfs42ext.Attributes) error {
	var args nfs42.SetAttrArgs
	if err := attr.Encode(&args.ObjAttributes); err != nil {
		return err
	}
	cmp, err := c.at(ctx, name)
	if err == nil {
		cmp.SetAttr(&args)
	}
	return c.do(ctx, "SETATTR", name, cmp, err)
}

// create makes a file that is not a regular one.
func (c *Client) create(ctx context.Context, name string, what nfs42.CreateType, perm fs.FileMode) error {
	cmp, last, err := c.in(ctx, name)
	if err == nil {
		args := nfs42.CreateArgs{ObjType: what, ObjName: nfs42.Component(last)}
		if err = SetMode(perm).Encode(&args.CreateAttrs); err == nil {
			cmp.Create(&args)
		}
	}
	return c.do(ctx, "CREATE", name, cmp, err)
}

// Mkdir makes a directory.
func (c *Client) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return c.create(ctx, name, nfs42.CreateType{Type: nfs42.FileTypeDir}, perm)
}

// Symlink makes a symbolic link.
func (c *Client) Symlink(ctx context.Context, target, name string) error {
	return c.create(ctx, name, nfs42.CreateType{Type: nfs42.FileTypeLnk, LinkData: nfs42.LinkText(target)}, 0o777)
}

// ReadLink returns the target of a symbolic link. It may be any text: a program that follows it
// must check where it leads.
func (c *Client) ReadLink(ctx context.Context, name string) (string, error) {
	cmp, err := c.at(ctx, name)
	var res *nfs42.ReadLinkRes
	if err == nil {
		res = cmp.ReadLink()
	}
	if err = c.do(ctx, "READLINK", name, cmp, err); err != nil {
		return "", err
	}
	return string(res.OK.Link), nil
}

// Remove removes a file or an empty directory.
func (c *Client) Remove(ctx context.Context, name string) error {
	cmp, last, err := c.in(ctx, name)
	if err == nil {
		cmp.Remove(last)
	}
	return c.do(ctx, "REMOVE", name, cmp, err)
}

// two returns a COMPOUND whose saved handle is where from leads, and whose current one is the
// directory of another name.
func (c *Client) two(ctx context.Context, from *nfs4.Compound, to string) (*nfs4.Compound, string, error) {
	saved := from.GetFH()
	if err := c.s.Do(ctx, from); err != nil {
		return nil, "", err
	}
	dir, last, err := c.in(ctx, to)
	if err != nil {
		return nil, "", err
	}
	at := dir.GetFH()
	if err := c.s.Do(ctx, dir); err != nil {
		return nil, "", err
	}
	cmp := new(nfs4.Compound)
	cmp.PutFH(saved.OK.Object)
	cmp.SaveFH()
	cmp.PutFH(at.OK.Object)
	return cmp, last, nil
}

// Rename gives a file another name. A file that has it is replaced.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	cmp, old, err := c.in(ctx, from)
	if err == nil {
		var last string
		if cmp, last, err = c.two(ctx, cmp, to); err == nil {
			cmp.Rename(old, last)
		}
	}
	return c.do(ctx, "RENAME", from, cmp, err)
}

// Link gives a file a further name.
func (c *Client) Link(ctx context.Context, name, to string) error {
	cmp, err := c.at(ctx, name)
	if err == nil {
		var last string
		if cmp, last, err = c.two(ctx, cmp, to); err == nil {
			cmp.Link(last)
		}
	}
	return c.do(ctx, "LINK", to, cmp, err)
}
