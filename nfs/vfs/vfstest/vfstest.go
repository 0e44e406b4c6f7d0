// Package vfstest has the tests that each file system of package vfs passes. A package with an
// implementation calls Test in one test.
package vfstest

import (
	"errors"
	"io/fs"
	"maps"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// Config describes the implementation under test.
type Config struct {
	// New returns an FS: an empty one, or, if it is read-only, one with the files of Sample. It
	// registers with t.Cleanup a function that closes the FS.
	New func(t *testing.T) vfs.FS

	// Reopen closes an FS that New returned, and returns one with the same files, as after a
	// restart of the program. If nil, files do not outlive the FS.
	Reopen func(t *testing.T, old vfs.FS) vfs.FS
}

// Sample returns the files of a read-only FS: in directories, empty, and longer than a READ. A
// directory may have other permissions in the FS, as in a zip file.
func Sample() fstest.MapFS {
	long := make([]byte, 3<<20+7)
	for i := range long {
		long[i] = byte(i) + byte(i>>8)
	}
	made := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	return fstest.MapFS{
		"hello":         {Data: []byte("hello, world\n"), Mode: 0o644, ModTime: made},
		"empty":         {Mode: 0o600, ModTime: made},
		"dir":           {Mode: fs.ModeDir | 0o755, ModTime: made},
		"dir/long":      {Data: long, Mode: 0o444, ModTime: made},
		"dir/below":     {Mode: fs.ModeDir | 0o700, ModTime: made},
		"dir/below/run": {Data: []byte("#!/bin/sh\n"), Mode: 0o755, ModTime: made},
	}
}

// Test runs the tests, each with a new FS.
func Test(t *testing.T, cfg Config) {
	tests := map[string]func(*tester){
		"roots": (*tester).roots, "listings": (*tester).listings, "identity": (*tester).identity,
		"data": (*tester).data, "names": (*tester).names, "links": (*tester).links, "renames": (*tester).renames,
		"attributes": (*tester).attributes, "kinds": (*tester).kinds, "removed": (*tester).removed,
		"concurrent": (*tester).concurrent, "model": (*tester).model, "restart": (*tester).restart,
	}
	if cfg.New(t).Info().ReadOnly {
		tests = map[string]func(*tester){"roots": (*tester).roots, "sample": (*tester).sample, "refused": (*tester).refused, "restart": (*tester).restartOfSample}
	}
	for _, name := range sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](&tester{t, cfg, cfg.New(t)}) })
	}
}

// tester tests one FS.
type tester struct {
	*testing.T
	cfg Config
	fs  vfs.FS
}

// same has the system errors that mean the same as an error of package vfs.
var same = map[error]syscall.Errno{
	vfs.ErrNotDir: syscall.ENOTDIR, vfs.ErrIsDir: syscall.EISDIR, vfs.ErrNotEmpty: syscall.ENOTEMPTY,
	vfs.ErrReadOnly: syscall.EROFS, fs.ErrInvalid: syscall.EINVAL, vfs.ErrTooLarge: syscall.EFBIG,
}

// fails checks an error.
func (t *tester) fails(what string, err, want error) {
	t.Helper()
	if number, ok := same[want]; err == nil || !errors.Is(err, want) && !(ok && errors.Is(err, number)) {
		t.Errorf("%s: %v, expected %v", what, err, want)
	}
}

// ok stops the test after an error.
func (t *tester) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *tester) root() vfs.Node {
	t.Helper()
	n, _, err := t.fs.Root()
	t.ok(err)
	return n
}

func (t *tester) lookup(dir vfs.Node, name string) (vfs.Node, vfs.Attr) {
	t.Helper()
	n, a, err := dir.Lookup(name)
	if err != nil {
		t.Fatalf("Lookup of %q: %v", name, err)
	}
	return n, a
}

// create makes an object.
func (t *tester) create(dir vfs.Node, name string, mode fs.FileMode) (vfs.Node, vfs.Attr) {
	t.Helper()
	n, a, err := dir.Create(name, vfs.New{Mode: mode})
	if err != nil {
		t.Fatalf("Create of %q: %v", name, err)
	}
	return n, a
}

func (t *tester) file(dir vfs.Node, name string) vfs.Node {
	t.Helper()
	n, _ := t.create(dir, name, 0o600)
	return n
}

func (t *tester) dir(dir vfs.Node, name string) vfs.Node {
	t.Helper()
	n, _ := t.create(dir, name, fs.ModeDir|0o700)
	return n
}

func (t *tester) id(n vfs.Node) vfs.ID {
	t.Helper()
	id, err := n.ID()
	t.ok(err)
	return id
}

func (t *tester) attr(n vfs.Node) vfs.Attr {
	t.Helper()
	a, err := n.Attr()
	t.ok(err)
	return a
}

// leads checks that an ID leads to a file.
func (t *tester) leads(what string, id vfs.ID, ino uint64) vfs.Node {
	t.Helper()
	n, a, err := t.fs.Resolve(id)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if a.Ino != ino || t.id(n) != id || t.attr(n).Ino != ino {
		t.Errorf("%s: the ID leads to file %d with the ID %x, expected %d, %x", what, a.Ino, t.id(n), ino, id)
	}
	return n
}

func (t *tester) stale(what string, id vfs.ID) {
	t.Helper()
	_, _, err := t.fs.Resolve(id)
	t.fails(what, err, vfs.ErrStale)
}

// open opens a file and closes it at the end of the test.
func (t *tester) open(n vfs.Node, access vfs.Access) vfs.File {
	t.Helper()
	f, err := n.Open(access)
	t.ok(err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// write writes a text at an offset.
func (t *tester) write(n vfs.Node, text string, off int64) {
	t.Helper()
	f, err := n.Open(vfs.Write)
	t.ok(err)
	if k, err := f.WriteAt([]byte(text), off); k != len(text) || err != nil {
		t.Errorf("WriteAt of %d bytes at %d: %d, %v", len(text), off, k, err)
	}
	t.ok(f.Sync())
	t.ok(f.Close())
}
