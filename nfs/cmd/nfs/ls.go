package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// maxDeep is the largest number of directories in one another, which a server could make endless.
const maxDeep = 256

// ls lists a directory, in the order of the server.
func (p *program) ls(ctx context.Context) (err error) {
	args, err := p.operands(remotePath)
	if err != nil {
		return err
	}
	c, name, err := p.dial(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	info, err := c.stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return p.entry(c, info, name, path.Base(name))
	}
	return p.list(c, name, "", 0)
}

// list lists a directory whose names below the first have a prefix.
func (p *program) list(c remote, dir, prefix string, level int) error {
	if level > maxDeep {
		return fmt.Errorf("%s: found more than %d directories in one another: list one further down", shown(dir), maxDeep)
	}
	for info, err := range c.list(dir) {
		if err != nil {
			return err
		}
		name, label := path.Join(dir, info.Name()), path.Join(prefix, info.Name())
		if err := p.entry(c, info, name, label); err != nil {
			return err
		}
		if p.recursive && info.IsDir() {
			if err := p.list(c, name, label, level+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry prints a file.
func (p *program) entry(c remote, info fs.FileInfo, name, label string) error {
	a, target := attributesOf(info), ""
	if kind(info.Mode()) == "symlink" && (p.long || p.json) {
		var err error
		if target, err = c.readLink(name); err != nil {
			return err
		}
	}
	if p.json {
		fields := map[string]any{
			"name": label, "kind": kind(info.Mode()), "mode": fmt.Sprintf("%04o", a.mode), "links": a.links, "uid": a.uid, "gid": a.gid,
			"size_bytes": info.Size(), "used_bytes": a.used, "fileid": a.fileID, "mtime": info.ModTime().UTC().Format(time.RFC3339Nano),
		}
		if target != "" {
			fields["target"] = target
		}
		return p.event("entry", fields)
	}
	line := shown(label)
	if p.long {
		line = fmt.Sprintf("%v %3d %5d %5d %12d %s %s", info.Mode(), a.links, a.uid, a.gid, info.Size(), info.ModTime().Format("2006-01-02 15:04"), line)
	}
	if p.long && target != "" {
		line += " -> " + shown(target)
	}
	_, err := fmt.Fprintln(p.stdout, line)
	return err
}
