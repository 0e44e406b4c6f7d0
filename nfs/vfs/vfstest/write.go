package vfstest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// identity checks that an ID stays with its file.
func (t *tester) identity() {
	root := t.root()
	a, b := t.dir(root, "a"), t.dir(root, "b")
	sub := t.dir(a, "sub")
	file := t.file(sub, "file")
	ino, id := t.attr(file).Ino, t.id(file)
	t.leads("a file", id, ino)
	t.ok(sub.Rename("file", sub, "renamed"))
	t.leads("a file that was renamed", id, ino)
	t.ok(a.Rename("sub", b, "moved"))
	file = t.leads("a file below a directory that moved", id, ino)
	up, _ := t.lookup(b, "moved")
	if _, found := t.lookup(up, ".."); found.Ino != t.attr(b).Ino {
		t.Error(".. of a directory that moved is not its new parent")
	}
	if got, _ := t.lookup(up, "renamed"); t.id(got) != id {
		t.Error("the ID changed with the name")
	}
	t.ok(file.Link(root, "link"))
	if got, _ := t.lookup(root, "link"); t.id(got) != id {
		t.Error("a second name gives another ID")
	}
	t.ok(up.Remove("renamed"))
	t.leads("a file with one of two names", id, ino)
	t.ok(root.Remove("link"))
	t.stale("a file without names", id)

	// Files that follow each other at one name, perhaps with one inode number, have different IDs.
	seen := map[vfs.ID]bool{}
	for range 20 {
		n := t.file(root, "again")
		seen[t.id(n)] = true
		t.ok(root.Remove("again"))
	}
	for id := range seen {
		t.stale("a file that was removed", id)
	}
	if len(seen) != 20 {
		t.Errorf("20 files had %d IDs", len(seen))
	}
	first, second := t.file(root, "first"), t.file(root, "second")
	firstID, secondID, ino := t.id(first), t.id(second), t.attr(second).Ino
	t.ok(root.Rename("second", root, "first"))
	t.stale("a file that another one replaced", firstID)
	t.leads("the file that replaced it", secondID, ino)
}

// data checks the content of files.
func (t *tester) data() {
	root := t.root()
	n := t.file(root, "file")
	if text := t.content(n); len(text) != 0 {
		t.Errorf("a new file has %q", text)
	}
	t.write(n, "world", 7)
	t.write(n, "hello, ", 0)
	if text := t.content(n); string(text) != "hello, world" {
		t.Errorf("the file has %q", text)
	}
	t.write(n, "end", 200_000)
	want := append([]byte("hello, world"), make([]byte, 200_003-12)...)
	copy(want[200_000:], "end")
	if !bytes.Equal(t.content(n), want) {
		t.Error("a file with a hole has other data")
	}
	f := t.open(n, vfs.Read|vfs.Write)
	hole := bytes.Repeat([]byte{255}, 100_000)
	if _, err := f.ReadAt(hole, 50_000); err != nil || !bytes.Equal(hole, want[50_000:150_000]) {
		t.Errorf("a hole is not read as zeros, %v", err)
	}
	for _, size := range []int64{100_000, 5, 300_000, 0, 9} {
		t.ok(f.Truncate(size))
		want = append(want[:min(int(size), len(want))], make([]byte, max(0, int(size)-len(want)))...)
		if !bytes.Equal(t.content(n), want) {
			t.Errorf("a file cut to %d has other data", size)
		}
	}
	t.ok(f.Truncate(0))
	t.write(n, "0123456789", 0)
	for _, test := range []struct {
		off int64
		len int
		got string
		eof bool
	}{{0, 5, "01234", false}, {5, 5, "56789", false}, {5, 6, "56789", true}, {10, 3, "", true}, {1000, 3, "", true}} {
		p := make([]byte, test.len)
		k, err := f.ReadAt(p, test.off)
		if string(p[:k]) != test.got || (err == io.EOF) != test.eof && k < test.len || err != nil && err != io.EOF {
			t.Errorf("ReadAt of %d at %d: %q, %v", test.len, test.off, p[:k], err)
		}
	}
	before := t.attr(n)
	time.Sleep(20 * time.Millisecond) // the tick of file systems
	t.write(n, "x", 0)
	if after := t.attr(n); !after.Mtime.After(before.Mtime) || !after.Ctime.After(before.Ctime) {
		t.Errorf("a write leaves the times %v, %v", after.Mtime, after.Ctime)
	}
	if a, err := f.Attr(); err != nil || a.Size != 10 || a.Ino != before.Ino {
		t.Errorf("the open file has the attributes %+v, %v", a, err)
	}
	if err := f.Truncate(-1 << 63 >> 1 & (1<<63 - 1)); err != nil { // 2^62 bytes
		t.fails("Truncate to 2^62", err, vfs.ErrTooLarge)
	}
}

// names checks Lookup, Create and Remove.
func (t *tester) names() {
	root := t.root()
	for _, name := range []string{"a", "with space", "\xff\xfe", "...", string(bytes.Repeat([]byte("n"), 200))} {
		t.file(root, name)
		_, _, err := root.Create(name, vfs.New{Mode: 0o600})
		t.fails("Create of a name in use", err, fs.ErrExist)
		_, _, err = root.Create(name, vfs.New{Mode: fs.ModeDir | 0o700})
		t.fails("Create of a directory with a name in use", err, fs.ErrExist)
		t.lookup(root, name)
		t.ok(root.Remove(name))
		_, _, err = root.Lookup(name)
		t.fails("Lookup of a removed name", err, fs.ErrNotExist)
		t.fails("Remove of a removed name", root.Remove(name), fs.ErrNotExist)
	}
	dir := t.dir(root, "dir")
	file := t.file(dir, "file")
	t.fails("Remove of a directory with names", root.Remove("dir"), vfs.ErrNotEmpty)
	t.leads("the directory", t.id(dir), t.attr(dir).Ino)
	_, _, err := file.Lookup("x")
	t.fails("Lookup in a file", err, vfs.ErrNotDir)
	_, _, err = file.Create("x", vfs.New{Mode: 0o600})
	t.fails("Create in a file", err, vfs.ErrNotDir)
	id := t.id(dir)
	t.ok(dir.Remove("file"))
	t.ok(root.Remove("dir"))
	t.stale("a removed directory", id)
}

// links checks hard links and link counts.
func (t *tester) links() {
	root := t.root()
	n, a := t.create(root, "one", 0o600)
	if a.Links != 1 {
		t.Errorf("a new file has %d links", a.Links)
	}
	dir := t.dir(root, "dir")
	t.ok(n.Link(dir, "two"))
	if a := t.attr(n); a.Links != 2 {
		t.Errorf("a file with two names has %d links", a.Links)
	}
	t.fails("Link to a name in use", n.Link(dir, "two"), fs.ErrExist)
	t.write(n, "text", 0)
	two, _ := t.lookup(dir, "two")
	if text := t.content(two); string(text) != "text" {
		t.Errorf("the second name has %q", text)
	}
	t.ok(root.Rename("one", dir, "two"))
	t.lookup(root, "one")
	t.ok(root.Remove("one"))
	if a := t.attr(two); a.Links != 1 {
		t.Errorf("a file with one name left has %d links", a.Links)
	}
}

// renames checks what Rename replaces and refuses.
func (t *tester) renames() {
	root := t.root()
	full, empty, file := t.dir(root, "full"), t.dir(root, "empty"), t.file(root, "file")
	below := t.dir(full, "below")
	fullID, emptyID, fileID := t.id(full), t.id(empty), t.id(file)
	ino := t.attr(full).Ino
	t.fails("of a name not in use", root.Rename("none", root, "x"), fs.ErrNotExist)
	t.fails("of a directory into itself", root.Rename("full", full, "x"), fs.ErrInvalid)
	t.fails("of a directory below itself", root.Rename("full", below, "x"), fs.ErrInvalid)
	t.fails("of a directory onto a file", root.Rename("empty", root, "file"), vfs.ErrNotDir)
	if err := root.Rename("file", root, "empty"); !errors.Is(err, fs.ErrExist) {
		t.fails("of a file onto a directory", err, vfs.ErrIsDir)
	}
	t.fails("of a directory onto one with names", root.Rename("empty", root, "full"), vfs.ErrNotEmpty)
	t.leads("after refusals", fullID, ino)
	t.leads("after refusals", emptyID, t.attr(empty).Ino)
	t.ok(root.Rename("full", root, "full"))
	t.ok(root.Rename("full", root, "empty"))
	t.stale("the directory that was replaced", emptyID)
	t.leads("the directory that replaced it", fullID, ino)
	now, _ := t.lookup(root, "empty")
	t.lookup(now, "below")
	t.file(now, "other")
	t.ok(root.Rename("file", now, "other"))
	t.leads("a file that replaced another", fileID, t.attr(t.leads("", fileID, t.ino(now, "other"))).Ino)
	if names := t.list(root, 5, nil); len(names) != 1 {
		t.Errorf("the root has %q", names)
	}
}

func (t *tester) ino(dir vfs.Node, name string) uint64 {
	t.Helper()
	_, a := t.lookup(dir, name)
	return a.Ino
}
