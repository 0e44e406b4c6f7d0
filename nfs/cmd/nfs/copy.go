package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/client"
)

// copier copies files from one side to the other. A copy gets its name when it is complete. Until
// then it is a part, which may have a note next to it that says how much is stored.
type copier struct {
	*program
	ctx      context.Context
	from, to side
	// data copies a file's data to a part, from an offset on. It calls stored after each window and
	// at the end, even after a failure, with the offset up to which the data are stored.
	data  func(name, part string, from, size int64, stored func(int64) error) error
	meter meter
	total totals
}

// totals counts what a copy did.
type totals struct {
	files, unchanged, skipped, failed int
	copied, size                      int64
}

// copy copies a file, a link, or with -r a directory.
func (c *copier) copy(name, as string) error {
	start := time.Now()
	source, err := c.from.stat(name)
	if err != nil {
		return err
	}
	stop, shows := c.meter.start(c.program)
	stopScan := func() {}
	switch {
	case !source.IsDir():
		c.meter.found(1, sizeOf(source))
		c.meter.foundAll()
	case shows:
		c.meter.now.tree = true
		stopScan = c.scan(name)
	}
	err = c.hint(c.one(source, name, as, 0))
	stopScan()
	stop()
	t := &c.total
	if c.json {
		failure := c.event("summary", map[string]any{
			"files": t.files, "unchanged": t.unchanged, "skipped": t.skipped, "failed": t.failed, "copied_bytes": t.copied, "size_bytes": t.size, "elapsed_ns": time.Since(start),
		})
		err = errors.Join(err, failure)
	} else if !c.quiet && err == nil {
		_, failure := fmt.Fprintf(c.stdout, "files: %d copied, %d unchanged, %d skipped; %d bytes copied\n", t.files, t.unchanged, t.skipped, t.copied)
		err = errors.Join(err, failure)
	}
	if err == nil && t.failed > 0 {
		err = &partial{t.failed}
	}
	return err
}

// one copies a file, a directory or a link, and skips anything else.
func (c *copier) one(source fs.FileInfo, name, as string, level int) error {
	switch source.Mode().Type() {
	case 0:
		return c.file(source, name, as)
	case fs.ModeDir:
		return c.tree(source, name, as, level)
	case fs.ModeSymlink:
		return c.link(source, name, as)
	}
	c.total.skipped++
	return c.done(name, source.Mode(), "skipped", 0, 0)
}

// tree copies a directory. A file that fails is reported, and the copy continues with the next one,
// unless no other can succeed, for example because the disk is full.
func (c *copier) tree(source fs.FileInfo, name, as string, level int) error {
	if level > maxDeep {
		return fmt.Errorf("%s: found more than %d directories in one another: copy one further down", shown(name), maxDeep)
	}
	if err := c.to.mkdir(as); err != nil {
		there, failure := c.to.stat(as)
		if failure != nil || !there.IsDir() {
			return err
		}
		if perm := there.Mode().Perm(); perm&0o700 != 0o700 { // copied before, from one like it
			if err := c.to.chmod(as, perm|0o700); err != nil {
				return err
			}
		}
	}
	for entry, err := range c.from.list(name) {
		if err != nil {
			return err
		}
		if isPart(entry.Name()) {
			continue
		}
		err := c.one(entry, path.Join(name, entry.Name()), path.Join(as, entry.Name()), level+1)
		if c.ctx.Err() != nil { // also if the file was copied: further ones may be missing
			return cmp.Or(err, context.Cause(c.ctx))
		}
		if full(err) {
			return err
		}
		if err != nil {
			c.total.failed++
			if !entry.IsDir() {
				c.meter.finished(sizeOf(entry))
			}
			c.meter.clear()
			c.report(err)
		}
	}
	return c.to.setAttr(as, source)
}

// full reports whether an error means that the whole destination is full or read-only.
func full(err error) bool {
	if refused := (*client.StatusError)(nil); errors.As(err, &refused) {
		switch refused.Status {
		case nfs3.StatusNospc, nfs3.StatusDquot, nfs3.StatusRofs:
			return true
		}
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// link copies a symbolic link as a link, with its time.
func (c *copier) link(source fs.FileInfo, name, as string) error {
	target, err := c.from.readLink(name)
	if err != nil {
		return err
	}
	if there, err := c.to.stat(as); err == nil && there.Mode().Type() == fs.ModeSymlink {
		if now, err := c.to.readLink(as); c.resumed && err == nil && now == target {
			if !there.ModTime().Equal(source.ModTime()) {
				if err := c.to.setLinkTime(as, source.ModTime()); err != nil {
					return err
				}
			}
			c.total.unchanged++
			return c.done(name, fs.ModeSymlink, "unchanged", 0, 0)
		}
		if err := c.to.remove(as); err != nil {
			return err
		}
	}
	if err := c.to.symlink(target, as); err != nil {
		return err
	}
	if err := c.to.setLinkTime(as, source.ModTime()); err != nil {
		return err
	}
	c.total.files++
	return c.done(name, fs.ModeSymlink, "copied", 0, 0)
}

// file copies a file by way of a part.
func (c *copier) file(source fs.FileInfo, name, as string) error {
	c.total.size += source.Size()
	there, err := c.to.stat(as)
	if err == nil && there.IsDir() {
		return fmt.Errorf("%s: found a directory with the name of the copy", shown(as))
	}
	if err == nil && c.resumed && there.Mode().IsRegular() && there.Size() == source.Size() && there.ModTime().Equal(source.ModTime()) {
		c.total.unchanged++
		return c.done(name, 0, "unchanged", source.Size(), 0)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part, notes := partOf(as)
	n, noted, err := begin(c.to, part, notes, noteOf(source), c.resumed)
	if err != nil {
		return err
	}
	// A file of one window begins at its first byte in any case, and needs no note. An old note is
	// replaced before the part.
	if noted || source.Size() > int64(c.cfg.Window) {
		noted = true
		if err := writeNote(c.to, notes, n); err != nil {
			return err
		}
	}
	from := n.Stored
	c.meter.file(name, source.Size(), from)
	if err := c.data(name, part, from, source.Size(), func(upTo int64) error {
		if n.Stored = upTo; !noted {
			return nil
		}
		return writeNote(c.to, notes, n)
	}); err != nil {
		return err
	}
	now, err := c.from.stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !noteOf(now).same(noteOf(source)) {
		return fmt.Errorf("%s: the file changed while it was copied: copy it again", shown(name))
	}
	if err := c.to.setAttr(part, source); err != nil {
		return err
	}
	if err := c.to.rename(part, as); err != nil {
		return err
	}
	if noted {
		if err := c.to.remove(notes); err != nil {
			return err
		}
	}
	c.total.files++
	c.total.copied += source.Size() - from
	return c.done(name, 0, "copied", source.Size(), source.Size()-from)
}

// needsR returns the error of a directory that is copied without -r.
func (p *program) needsR(source fs.FileInfo, name string) error {
	if source.IsDir() && !p.deep {
		return fmt.Errorf("%s is a directory: copy it with -r", shown(name))
	}
	return nil
}

// hint replaces the error of an interrupted copy by one that says how to resume it.
func (c *copier) hint(err error) error {
	if signal := (*interrupted)(nil); err != nil && errors.As(context.Cause(c.ctx), &signal) {
		return fmt.Errorf("%w: the same command with -resume goes on", signal)
	}
	return err
}

// done reports what happened to a file.
func (c *copier) done(name string, mode fs.FileMode, result string, size, copied int64) error {
	c.meter.finished(size)
	if c.json {
		return c.event("file", map[string]any{"name": name, "kind": kind(mode), "result": result, "size_bytes": size, "copied_bytes": copied})
	}
	if result == "skipped" {
		c.meter.clear()
		fmt.Fprintf(c.stderr, "nfs: skipped %s: the command copies no %s\n", shown(name), kind(mode))
	}
	return nil
}

// split returns the directory of a name, with its slash, and the last element.
func split(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/') + 1
	return name[:i], name[i:]
}
