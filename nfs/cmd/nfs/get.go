package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
)

// get copies from the server.
func (p *program) get(ctx context.Context) (err error) {
	args, err := p.operands(remotePath, "LOCAL")
	if err != nil {
		return err
	}
	c, name, err := p.dial(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	dir, as := filepath.Dir(args[1]), filepath.Base(args[1])
	source, err := c.stat(name)
	if err != nil {
		return err
	}
	if err := p.needsR(source, args[0]); err != nil {
		return err
	}
	if there, err := os.Stat(args[1]); err == nil && there.IsDir() || source.IsDir() {
		dir, as = args[1], path.Base(args[0])
	}
	if source.IsDir() { // the directory is the root, so that no link leads outside
		as = "."
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	job := &copier{program: p, ctx: ctx, from: c, to: local{root}}
	job.data = func(name, part string, from, size int64, stored func(int64) error) error {
		return job.receive(c, root, name, part, from, size, stored)
	}
	return job.copy(name, as)
}

// receive reads a file of the server into a part.
func (c *copier) receive(server remote, root *os.Root, name, part string, from, size int64, stored func(int64) error) (err error) {
	source, err := server.open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	out, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(from); err != nil {
		return err
	}
	for at := from; ; {
		n, err := source.CopyTo(&counter{io.NewOffsetWriter(out, at), &c.meter}, at, min(int64(c.cfg.Window), size-at))
		at += n
		if n > 0 || err == nil { // in order, so nothing is missing before
			err = errors.Join(err, out.Sync(), stored(at))
		}
		if err != nil || at == size {
			return err
		}
	}
}

// counter counts the bytes that are written.
type counter struct {
	io.Writer
	meter *meter
}

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.meter.add(n)
	return n, err
}
