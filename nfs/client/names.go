package client

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// node is a file that was found: its handle, and its attributes if the server sent them.
type node struct {
	handle nfs3.Handle
	attr   nfs3.PostOpAttr
}

// element returns an error unless name is one element of a path. Another name from a server, for
// example "../x", could lead a copy out of its directory.
func element(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%w: found %.64q, expected one element of a path, neither . nor .. nor with a slash or NUL", ErrName, name)
	}
	return nil
}

// elements returns the elements of a path.
func elements(name string) (out []string, err error) {
	for e := range strings.SplitSeq(name, "/") {
		if e == "" || e == "." {
			continue
		}
		if err := element(e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// walk finds a file by LOOKUP of each element.
func (c *Client) walk(ctx context.Context, name string) (node, error) {
	n := node{handle: c.root}
	list, err := elements(name)
	if err != nil {
		return n, err
	}
	for i, e := range list {
		if n, err = c.lookup(ctx, n.handle, e, strings.Join(list[:i+1], "/")); err != nil {
			return n, err
		}
	}
	return n, nil
}

// lookup finds an entry of a directory. whole is its name in errors.
func (c *Client) lookup(ctx context.Context, dir nfs3.Handle, name, whole string) (n node, err error) {
	args, res := nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename(name)}}, nfs3.LookupRes{}
	err = c.do(ctx, "LOOKUP", whole, &res.Status, func() error { return c.nfs.LookupInto(ctx, &args, &res, nil) })
	return node{res.OK.Object, res.OK.ObjAttributes}, err
}

// parent finds the directory of a file that need not exist.
func (c *Client) parent(ctx context.Context, name string) (where nfs3.DirOpArgs, err error) {
	list, err := elements(name)
	if err != nil {
		return where, err
	}
	if len(list) == 0 {
		return where, fmt.Errorf("%w: found the root, expected the name of a file below it", ErrName)
	}
	last := len(list) - 1
	dir, err := c.walk(ctx, strings.Join(list[:last], "/"))
	return nfs3.DirOpArgs{Dir: dir.handle, Name: nfs3.Filename(list[last])}, err
}

// stat returns the attributes of a node, by GETATTR unless they came with its handle.
func (c *Client) stat(ctx context.Context, n node, name string) (*Info, error) {
	info := &Info{name: path.Base("/" + name), Attr: n.attr.Attributes}
	if info.name == "/" {
		info.name = "."
	}
	if n.attr.AttributesFollow {
		return info, nil
	}
	args, res := nfs3.GetAttrArgs{Object: n.handle}, nfs3.GetAttrRes{}
	if err := c.do(ctx, "GETATTR", name, &res.Status, func() error { return c.nfs.GetAttrInto(ctx, &args, &res, nil) }); err != nil {
		return nil, err
	}
	info.Attr = res.OK.ObjAttributes
	return info, nil
}

// Stat describes a file. If the name is a symbolic link, Stat describes the link.
func (c *Client) Stat(ctx context.Context, name string) (*Info, error) {
	n, err := c.walk(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.stat(ctx, n, name)
}

// SetAttr changes attributes of a file: see SetMode, SetTimes and SetSize.
func (c *Client) SetAttr(ctx context.Context, name string, attr nfs3.SetAttr) error {
	n, err := c.walk(ctx, name)
	if err != nil {
		return err
	}
	return c.setAttr(ctx, n.handle, name, attr)
}

func (c *Client) setAttr(ctx context.Context, h nfs3.Handle, name string, attr nfs3.SetAttr) error {
	args, res := nfs3.SetAttrArgs{Object: h, NewAttributes: attr}, nfs3.SetAttrRes{}
	return c.do(ctx, "SETATTR", name, &res.Status, func() error { return c.nfs.SetAttrInto(ctx, &args, &res, nil) })
}

// ReadLink returns the target of a symbolic link. It may be any text: a program that follows it
// must check where it leads.
func (c *Client) ReadLink(ctx context.Context, name string) (string, error) {
	n, err := c.walk(ctx, name)
	if err != nil {
		return "", err
	}
	args, res := nfs3.ReadLinkArgs{SymLink: n.handle}, nfs3.ReadLinkRes{}
	err = c.do(ctx, "READLINK", name, &res.Status, func() error { return c.nfs.ReadLinkInto(ctx, &args, &res, nil) })
	return string(res.OK.Path), err
}
