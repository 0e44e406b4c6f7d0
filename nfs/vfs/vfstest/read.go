package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

func sorted(seq iter.Seq[string]) []string { return slices.Sorted(seq) }

// roots checks that the root is its own parent, and that IDs no file ever had are stale.
func (t *tester) roots() {
	root, a, err := t.fs.Root()
	t.ok(err)
	if !a.Mode.IsDir() || a.Ino == 0 || t.attr(root) != a {
		t.Errorf("the root has the attributes %+v, then %+v", a, t.attr(root))
	}
	t.leads("the root", t.id(root), a.Ino)
	for _, name := range []string{".", ".."} {
		n, b := t.lookup(root, name)
		if b.Ino != a.Ino || t.id(n) != t.id(root) {
			t.Errorf("%s of the root is file %d, expected %d", name, b.Ino, a.Ino)
		}
	}
	t.stale("an ID of zeros", vfs.ID{})
	t.stale("an ID of ones", vfs.ID(bytes.Repeat([]byte{255}, len(vfs.ID{}))))
	other := t.id(root)
	other[len(other)-1] ^= 1
	t.stale("another ID", other)
	_, _, err = root.Lookup("none")
	t.fails("Lookup of a name not in use", err, fs.ErrNotExist)
	_, err = t.fs.Space()
	t.ok(err)
}

// list lists a directory in calls for some entries each. It checks each entry except "." and "..",
// which need not exist, and calls each after a call that was not the last.
func (t *tester) list(dir vfs.Node, some int, each func()) (names []string) {
	t.Helper()
	cookie := uint64(0)
	for range 100_000 {
		left := some
		eof, err := dir.ReadDir(cookie, func(e vfs.Entry) bool {
			if left == 0 {
				return false
			}
			left--
			if e.Cookie == 0 {
				t.Errorf("%q has the cookie 0", e.Name)
			}
			cookie = e.Cookie
			if e.Name == "." || e.Name == ".." {
				return true
			}
			if _, a, err := dir.Lookup(e.Name); err != nil || a.Ino != e.Ino {
				t.Errorf("%q is listed as file %d, Lookup finds %d, %v", e.Name, e.Ino, a.Ino, err)
			}
			names = append(names, e.Name)
			return true
		})
		t.ok(err)
		if eof {
			return names
		}
		if left == some {
			t.Fatal("no entry and no end")
		}
		if each != nil {
			each()
		}
	}
	t.Fatal("the listing has no end")
	return nil
}

// listings lists a directory while entries come and go.
func (t *tester) listings() {
	dir := t.dir(t.root(), "dir")
	if names := t.list(dir, 10, nil); len(names) != 0 {
		t.Errorf("an empty directory has %q", names)
	}
	var stay []string
	for i := range 300 {
		name := fmt.Sprintf("stays%d", i)
		t.file(dir, name)
		stay = append(stay, name)
		t.file(dir, fmt.Sprintf("goes%d", i))
	}
	slices.Sort(stay)
	if names := t.list(dir, 7, nil); len(names) != 600 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != 600 {
		t.Errorf("a directory of 600 lists %d names", len(names))
	}
	n := 0
	names := t.list(dir, 7, func() {
		for range 5 {
			if n < 300 {
				t.ok(dir.Remove(fmt.Sprintf("goes%d", n)))
				t.file(dir, fmt.Sprintf("comes%d", n))
				n++
			}
		}
	})
	names = slices.DeleteFunc(names, func(name string) bool { return name[0] != 's' })
	if slices.Sort(names); !slices.Equal(names, stay) {
		t.Errorf("of %d entries that stay, %d are listed, %d without repetitions", len(stay), len(names), len(slices.Compact(names)))
	}
	file := t.file(dir, "file")
	_, err := file.ReadDir(0, func(vfs.Entry) bool { return true })
	t.fails("ReadDir of a file", err, vfs.ErrNotDir)
	if _, err := dir.ReadDir(1<<63-1, func(vfs.Entry) bool { return true }); err != nil {
		t.fails("ReadDir from a cookie that the directory never had", err, vfs.ErrBadCookie)
	}
}

// content reads a file to its end.
func (t *tester) content(n vfs.Node) []byte {
	t.Helper()
	f, err := n.Open(vfs.Read)
	t.ok(err)
	a, err := f.Attr()
	t.ok(err)
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
	t.ok(errors.Join(err, f.Close()))
	if uint64(len(text)) != a.Size {
		t.Errorf("a file of %d bytes has the size %d", len(text), a.Size)
	}
	return text
}

// walk calls f with all objects below a directory.
func (t *tester) walk(dir vfs.Node, at string, f func(p string, n vfs.Node, a vfs.Attr)) {
	t.Helper()
	for _, name := range t.list(dir, 2, nil) {
		n, a := t.lookup(dir, name)
		f(path.Join(at, name), n, a)
		if a.Mode.IsDir() {
			t.walk(n, path.Join(at, name), f)
		}
	}
}

// sample checks the files of a read-only FS.
func (t *tester) sample() {
	want, found := Sample(), map[string]bool{}
	inos := map[uint64]string{}
	t.walk(t.root(), ".", func(p string, n vfs.Node, a vfs.Attr) {
		found[p] = true
		if inos[a.Ino] != "" {
			t.Errorf("%s and %s have one inode number", p, inos[a.Ino])
		}
		inos[a.Ino] = p
		t.leads(p, t.id(n), a.Ino)
		file := want[p]
		switch {
		case file == nil:
			t.Errorf("found %s, which is not in the sample", p)
			return
		case a.Mode != file.Mode && !a.Mode.IsDir(), a.Mode.Type() != file.Mode.Type(), !a.Mtime.Equal(file.ModTime):
			t.Errorf("%s has mode %v and time %v, expected %v, %v", p, a.Mode, a.Mtime, file.Mode, file.ModTime)
		}
		if !a.Mode.IsDir() && !bytes.Equal(t.content(n), file.Data) {
			t.Errorf("%s has other data", p)
		}
	})
	if len(found) != len(want) {
		t.Errorf("found %v, expected the files of the sample", found)
	}
	t.parallelReads()
}

// parallelReads reads parts of a file in another order than they have, several at a time.
func (t *tester) parallelReads() {
	data := Sample()["dir/long"].Data
	dir, _ := t.lookup(t.root(), "dir")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			n, _, err := dir.Lookup("long")
			if err != nil {
				t.Error(err)
				return
			}
			f, err := n.Open(vfs.Read)
			if err != nil {
				t.Error(err)
				return
			}
			for at := len(data) - i*100_000; at > 0; at -= 300_000 {
				part := make([]byte, 100)
				k, err := f.ReadAt(part, int64(at))
				if end := min(at+100, len(data)); !bytes.Equal(part[:k], data[at:end]) || (err == io.EOF) != (k < 100) {
					t.Errorf("%d bytes at %d are wrong, %v", k, at, err)
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// refused checks that a read-only FS takes no changes.
func (t *tester) refused() {
	root := t.root()
	hello, a := t.lookup(root, "hello")
	mode := fs.FileMode(0o777)
	_, _, err := root.Create("new", vfs.New{Mode: 0o600})
	t.fails("Create", err, vfs.ErrReadOnly)
	t.fails("Link", hello.Link(root, "new"), vfs.ErrReadOnly)
	t.fails("Remove", root.Remove("hello"), vfs.ErrReadOnly)
	t.fails("Rename", root.Rename("hello", root, "new"), vfs.ErrReadOnly)
	t.fails("SetAttr", hello.SetAttr(vfs.Change{Mode: &mode}), vfs.ErrReadOnly)
	for _, access := range []vfs.Access{vfs.Write, vfs.Read | vfs.Write, vfs.Write | vfs.Force} {
		_, err = hello.Open(access)
		t.fails("Open for writing", err, vfs.ErrReadOnly)
	}
	if t.attr(hello) != a {
		t.Errorf("the attributes have changed: %+v, were %+v", t.attr(hello), a)
	}
	if _, err := hello.ReadLink(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("ReadLink of a file: %v", err)
	}
	_, _, err = hello.Lookup("x")
	t.fails("Lookup in a file", err, vfs.ErrNotDir)
}

// restartOfSample checks that the IDs of a read-only FS outlive it.
func (t *tester) restartOfSample() {
	if t.cfg.Reopen == nil {
		t.Skip("files do not outlive the FS")
	}
	ids := map[string]vfs.ID{}
	t.walk(t.root(), ".", func(p string, n vfs.Node, _ vfs.Attr) { ids[p] = t.id(n) })
	t.fs = t.cfg.Reopen(t.T, t.fs)
	t.walk(t.root(), ".", func(p string, _ vfs.Node, a vfs.Attr) { t.leads(p, ids[p], a.Ino) })
}
