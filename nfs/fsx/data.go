package fsx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
)

// read reads a random part of a file, or one that was written a short time ago, since another write
// may soon hide that it is wrong.
func (t *Tester) read() error {
	name := t.existing()
	off, size := t.number(t.cfg.MaxFile), t.number(t.cfg.MaxFile)
	if t.rnd.IntN(2) == 0 {
		latest := t.names[name].latest
		part := latest[t.rnd.IntN(len(latest))]
		off, size = part.off, part.size
	}
	t.note(Read, "%s at %d, %d bytes", name, off, size)
	n, err := t.handle(name)
	if err != nil {
		return err
	}
	return t.check(n.file, name, n.data, off, size)
}

// check compares size bytes at off of a file with data, which is the whole file.
func (t *Tester) check(file File, name string, data []byte, off, size int) error {
	from := min(off, len(data))
	expected := data[from:min(from+size, len(data))]
	p := make([]byte, size)
	got, err := file.ReadAt(p, int64(off))
	switch {
	case got < 0 || got > size:
		return fmt.Errorf("%s: %d bytes of %d read", name, got, size)
	case got < size && !errors.Is(err, io.EOF) || got == size && err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("reading %s: %d of %d bytes: %w", name, got, size, orNothing(err))
	}
	return t.differ(name, off, p[:got], expected)
}

var errNothing = errors.New("no error, expected one")

// orNothing returns err, or errNothing if err is nil: a wrong result came without an error.
func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}

// write writes to a random place of a file, perhaps past its end.
func (t *Tester) write() error {
	name := t.existing()
	off := t.number(t.cfg.MaxFile)
	if t.cfg.Dense {
		off = min(off, len(t.names[name].data))
	}
	size := min(t.amount(), t.cfg.MaxFile-off)
	what := t.note(Write, "%s at %d, %d bytes", name, off, size)
	n, err := t.handle(name)
	if err != nil {
		return err
	}
	return t.put(n, what, off, size, func(p []byte) (int, error) { return n.file.WriteAt(p, int64(off)) })
}

// append appends to a file.
func (t *Tester) append() error {
	name := t.existing()
	off := len(t.names[name].data)
	size := min(t.amount(), t.cfg.MaxFile-off)
	what := t.note(Append, "%s at its end, %d, %d bytes", name, off, size)
	n, err := t.handle(name)
	if err != nil {
		return err
	}
	return t.put(n, what, off, size, func(p []byte) (int, error) { return n.file.Append(p) })
}

// put makes bytes, hands them to do, and puts them into the model.
func (t *Tester) put(n *node, what string, off, size int, do func([]byte) (int, error)) error {
	p := make([]byte, size)
	fill(p, t.cfg.Seed, t.step, off)
	t.writes = append(t.writes, write{t.step, what, off, size})
	n.latest[t.step%len(n.latest)] = span{off, size}
	given := bytes.Clone(p)
	wrote, err := do(given)
	switch {
	case err != nil:
		return err
	case wrote != size:
		return fmt.Errorf("%d of %d bytes written, without an error", wrote, size)
	case !bytes.Equal(given, p):
		return errors.New("the file system has changed the buffer")
	case size == 0:
		return nil // does not extend the file
	}
	n.data = append(n.data, make([]byte, max(0, off+size-len(n.data)))...)
	copy(n.data[off:], p)
	return nil
}

// truncate makes a file shorter or longer, often by a little.
func (t *Tester) truncate() error {
	name := t.existing()
	size := t.number(t.cfg.MaxFile)
	switch before := len(t.names[name].data); t.rnd.IntN(4) {
	case 0:
		size = max(before-t.amount(), 0)
	case 1, 2:
		size = min(before+t.amount(), t.cfg.MaxFile)
	}
	if t.cfg.Dense {
		size = min(size, len(t.names[name].data))
	}
	t.note(Truncate, "%s from %d to %d bytes", name, len(t.names[name].data), size)
	n, err := t.handle(name)
	if err != nil {
		return err
	}
	if err := n.file.Truncate(int64(size)); err != nil {
		return err
	}
	grown := append(n.data, make([]byte, max(0, size-len(n.data)))...)
	n.data = bytes.Clone(grown[:size]) // bytes that were cut off do not come back
	return nil
}

// size compares the size of a file.
func (t *Tester) size() error {
	name := t.existing()
	t.note(Size, "%s", name)
	n, err := t.handle(name)
	if err != nil {
		return err
	}
	return sized(n.file, name, len(n.data))
}

func sized(file File, name string, expected int) error {
	size, err := file.Size()
	if err == nil && size != int64(expected) {
		err = fmt.Errorf("%s has %d bytes, expected %d", name, size, expected)
	}
	return err
}

// sync waits until a file is stored.
func (t *Tester) sync() error {
	name := t.existing()
	t.note(Sync, "%s", name)
	n, err := t.handle(name)
	if err != nil {
		return err
	}
	return n.file.Sync()
}

// reopen closes a file and opens it again.
func (t *Tester) reopen() error {
	name := t.existing()
	t.note(Reopen, "%s", name)
	if err := t.close(t.names[name]); err != nil {
		return err
	}
	_, err := t.handle(name)
	return err
}

// compare compares all with the model.
func (t *Tester) compare() error {
	t.note(Compare, "")
	return t.compareWith(t.fs)
}

func (t *Tester) compareWith(fs FS) error {
	for _, name := range slices.Sorted(maps.Keys(t.names)) { // another File sees synced bytes
		if n := t.names[name]; n.file != nil {
			if err := n.file.Sync(); err != nil {
				return fmt.Errorf("syncing %s: %w", name, err)
			}
		}
	}
	expected := map[string][]string{".": nil}
	for _, dir := range t.dirs {
		expected[dir] = nil
	}
	for _, name := range slices.Concat(t.dirs, slices.Collect(maps.Keys(t.names))) {
		expected[path.Dir(name)] = append(expected[path.Dir(name)], path.Base(name))
	}
	for _, dir := range t.dirs {
		found, err := fs.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("reading the directory %s: %w", dir, err)
		}
		slices.Sort(found)
		if slices.Sort(expected[dir]); !slices.Equal(found, expected[dir]) {
			return fmt.Errorf("the directory %s has %q, expected %q", dir, found, expected[dir])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.names)) {
		if err := t.whole(fs, name); err != nil {
			return err
		}
	}
	return nil
}

// whole compares one file of fs, opened for it.
func (t *Tester) whole(fs FS, name string) error {
	file, err := fs.Open(name)
	if err != nil {
		return fmt.Errorf("opening %s: %w", name, err)
	}
	data := t.names[name].data
	err = t.check(file, name, data, 0, len(data)+1) // and no byte after them
	if err == nil {
		err = sized(file, name, len(data))
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
