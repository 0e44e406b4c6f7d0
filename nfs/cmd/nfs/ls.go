package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// maxDeep is the largest number of directories in one another, which a server could make endless.
const maxDeep = 256

// ls lists a directory, in the order of the server.
func (p *program) ls(ctx context.Context) (err error) {
	args, err := p.operands(remotePath)
	if err != nil {
		return err
	}
	c, name, err := client.Dial(ctx, args[0], &p.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	info, err := c.Stat(ctx, name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return p.entry(ctx, c, info, name, path.Base(name))
	}
	return p.list(ctx, c, name, "", 0)
}

// list lists a directory whose names below the first have a prefix.
func (p *program) list(ctx context.Context, c *client.Client, dir, prefix string, level int) error {
	if level > maxDeep {
		return fmt.Errorf("%s: found more than %d directories in one another: list one further down", shown(dir), maxDeep)
	}
	for info, err := range c.ReadDir(ctx, dir) {
		if err != nil {
			return err
		}
		name, label := path.Join(dir, info.Name()), path.Join(prefix, info.Name())
		if err := p.entry(ctx, c, info, name, label); err != nil {
			return err
		}
		if p.recursive && info.IsDir() {
			if err := p.list(ctx, c, name, label, level+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry prints a file.
func (p *program) entry(ctx context.Context, c *client.Client, info *client.Info, name, label string) error {
	a, target := &info.Attr, ""
	if kind(info.Mode()) == "symlink" && (p.long || p.json) {
		var err error
		if target, err = c.ReadLink(ctx, name); err != nil {
			return err
		}
	}
	if p.json {
		fields := map[string]any{
			"name": label, "kind": kind(info.Mode()), "mode": fmt.Sprintf("%04o", a.Mode), "links": a.Nlink, "uid": a.UID, "gid": a.GID,
			"size_bytes": a.Size, "used_bytes": a.Used, "fileid": a.FileID, "mtime": info.ModTime().UTC().Format(time.RFC3339Nano),
		}
		if target != "" {
			fields["target"] = target
		}
		return p.event("entry", fields)
	}
	line := shown(label)
	if p.long {
		line = fmt.Sprintf("%v %3d %5d %5d %12d %s %s", info.Mode(), a.Nlink, a.UID, a.GID, a.Size, info.ModTime().Format("2006-01-02 15:04"), line)
	}
	if p.long && target != "" {
		line += " -> " + shown(target)
	}
	_, err := fmt.Fprintln(p.stdout, line)
	return err
}
