package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
)

// put copies to the server.
func (p *program) put(ctx context.Context) (err error) {
	args, err := p.operands("LOCAL", remotePath)
	if err != nil {
		return err
	}
	source, err := os.Stat(args[0])
	if err != nil {
		return err
	}
	if err := p.needsR(source, args[0]); err != nil {
		return err
	}
	dir, name := filepath.Dir(args[0]), filepath.Base(args[0])
	if source.IsDir() {
		dir, name = args[0], "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c, as, err := p.dial(ctx, args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if there, err := c.stat(as); err == nil && there.IsDir() && !source.IsDir() {
		as = path.Join(as, name)
	}
	job := &copier{program: p, ctx: ctx, from: local{root}, to: c}
	job.data = func(name, part string, from, size int64, stored func(int64) error) error {
		return job.send(c, root, name, part, from, size, stored)
	}
	return job.copy(name, as)
}

// send writes a local file to a part on the server.
func (c *copier) send(server remote, root *os.Root, name, part string, from, size int64, stored func(int64) error) (err error) {
	source, err := root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	out, err := server.create(part)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(from); err != nil {
		return err
	}
	return out.CopyFrom(&counting{source, &c.meter}, from, size-from, stored)
}

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	meter *meter
}

// ReadAt implements io.ReaderAt.
func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, off)
	c.meter.add(n)
	return n, err
}
