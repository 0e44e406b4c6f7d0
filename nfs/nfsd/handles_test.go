package nfsd_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
)

// Handles survive restarts, and clients' renames of the file or the directories above it.
func TestHandlesSurvive(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	var dir, file nfs3.Handle
	session := func(f func(c *client)) {
		conn := mem.New(e.server.Handler(), nil)
		f(clientOver(t, conn, auth(t, 1000, 1000)))
		check(t, conn.Close())
		e.restart(t)
	}
	session(func(c *client) {
		top, _ := c.mkdir(t, c.root, "top")
		dir, _ = c.mkdir(t, top, "dir")
		file, _ = c.create(t, dir, "odd\xff\nname")
		c.write(t, file, 0, []byte("data"), nfs3.StableHowUnstable)
	})
	for i := range 3 {
		session(func(c *client) {
			if got := c.read(t, file, 0, 10); string(got.OK.Data) != "data" {
				t.Errorf("after restart %d: %v %q", i+1, got.Status, got.OK.Data)
			}
			switch i {
			case 0:
				want(t, "RENAME", c.rename(t, c.root, "top", c.root, "other"), nfs3.StatusOK)
				want(t, "RENAME", c.rename(t, dir, "odd\xff\nname", c.root, "file"), nfs3.StatusOK)
			case 1:
				want(t, "RENAME", c.rename(t, c.root, "file", dir, "again"), nfs3.StatusOK)
			}
			if h, code := c.lookup(t, dir, ".."); code != nfs3.StatusOK {
				t.Errorf("LOOKUP of ..: %v %v", h, code)
			}
		})
	}
}

// A local rename makes a handle stale until the file is looked up: then it is the same handle.
func TestLocalRename(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	dir, _ := c.mkdir(t, c.root, "dir")
	file, _ := c.create(t, dir, "file")
	check(t, os.Rename(filepath.Join(e.dir, "dir"), filepath.Join(e.dir, "moved")))
	_, code := c.attr(t, file)
	want(t, "GETATTR", code, nfs3.StatusStale)
	again, code := c.lookup(t, c.root, "moved")
	if want(t, "LOOKUP", code, nfs3.StatusOK); !bytes.Equal(again.Data, dir.Data) {
		t.Skip("the file system has no generations, so the handle is another one")
	}
	_, code = c.attr(t, file)
	want(t, "GETATTR", code, nfs3.StatusOK)
}

// A new file in the place of another one, perhaps with its inode number, has another handle.
func TestReusedInode(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	for i := range 20 {
		old, _ := c.create(t, c.root, "file")
		if i%2 == 0 {
			want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusOK)
		} else {
			check(t, os.Remove(filepath.Join(e.dir, "file")))
		}
		f, code := c.create(t, c.root, "file")
		want(t, "CREATE", code, nfs3.StatusOK)
		if bytes.Equal(f.Data, old.Data) {
			t.Fatal("two files have one handle")
		}
		_, code = c.attr(t, old)
		want(t, "GETATTR of the removed file", code, nfs3.StatusStale)
		want(t, "REMOVE", c.remove(t, c.root, "file"), nfs3.StatusOK)
	}
}

// A local program removes a file and makes another one of the same name, at once or after the
// generation of the file was noted.
func TestLocalReuse(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	name := filepath.Join(e.dir, "file")
	for i := range 50 {
		old, code := c.create(t, c.root, "file")
		want(t, "CREATE", code, nfs3.StatusOK)
		for noted := false; !noted; { // once its change is more than a second ago
			noted = i > 0
			before := time.Now().Unix()
			a, code := c.attr(t, old)
			want(t, "GETATTR", code, nfs3.StatusOK)
			noted = noted || int64(a.Ctime.Seconds)+1 < before
		}
		check(t, os.Remove(name))
		check(t, os.WriteFile(name, nil, 0o644))
		_, code = c.attr(t, old)
		want(t, "GETATTR of the removed file", code, nfs3.StatusStale)
		check(t, os.Remove(name))
	}
}

// A file with several names keeps its handle while one of them is left.
func TestHardLinks(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "0")
	for i := 1; i < 5; i++ {
		res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: c.at(c.root, fmt.Sprint(i))})
		check(t, err)
		want(t, "LINK", res.Status, nfs3.StatusOK)
	}
	for i := range 5 {
		_, code := c.attr(t, file)
		want(t, "GETATTR", code, nfs3.StatusOK)
		want(t, "REMOVE", c.remove(t, c.root, fmt.Sprint(i)), nfs3.StatusOK)
	}
	_, code := c.attr(t, file)
	want(t, "GETATTR", code, nfs3.StatusStale)
}

// Handles that the server did not make are refused with NFS3ERR_BADHANDLE (RFC 1813 §2.6), for
// example every prefix of a handle, and handles of another export.
func TestForgedHandles(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	other := newExport(t, nfsd.Config{Async: true}).client(t, auth(t, 1000, 1000))
	forged := [][]byte{nil, make([]byte, 64), other.root.Data, append(bytes.Clone(c.root.Data), 0)}
	for i := range c.root.Data {
		changed := bytes.Clone(c.root.Data)
		changed[i] ^= 1
		forged = append(forged, changed, c.root.Data[:i])
	}
	for _, h := range forged {
		_, code := c.attr(t, nfs3.Handle{Data: h})
		want(t, fmt.Sprintf("GETATTR of %x", h), code, nfs3.StatusBadhandle)
	}
	forgery := append(bytes.Clone(c.root.Data[:len(c.root.Data)-1]), ^c.root.Data[len(c.root.Data)-1])
	if n := testing.AllocsPerRun(100, func() { e.server.Opens(forgery) }); n > 16 {
		t.Errorf("a forged handle costs %v allocations", n)
	}
}

// The table withstands a file that a crash left in any state: the key is lost only with its line,
// and no handle leads to another file.
func TestDamagedTable(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	conn := mem.New(e.server.Handler(), nil)
	c := clientOver(t, conn, auth(t, 1000, 1000))
	a, _ := c.create(t, c.root, "a")
	b, _ := c.create(t, c.root, "b")
	check(t, conn.Close())
	check(t, e.server.Close())
	name := filepath.Join(e.cfg.State, "handles")
	text, err := os.ReadFile(name)
	check(t, err)
	for cut := 0; cut <= len(text); cut += 7 {
		check(t, os.WriteFile(name, text[:cut], 0o600))
		e.start(t)
		conn := mem.New(e.server.Handler(), nil)
		c := clientOver(t, conn, auth(t, 1000, 1000))
		for i, h := range []nfs3.Handle{a, b} {
			attr, code := c.attr(t, h)
			if code != nfs3.StatusOK && code != nfs3.StatusStale && code != nfs3.StatusBadhandle {
				t.Errorf("cut at %d: %v", cut, code)
			}
			local, err := os.Lstat(filepath.Join(e.dir, string("ab"[i])))
			check(t, err)
			if code == nfs3.StatusOK && inodeOf(local) != uint64(attr.FileID) {
				t.Errorf("cut at %d: the handle leads to another file", cut)
			}
		}
		check(t, conn.Close())
		check(t, e.server.Close())
	}
	e.start(t)
}

// The file of the table does not grow with the number of renames.
func TestTableSize(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "a")
	for range 3000 {
		want(t, "RENAME", c.rename(t, c.root, "a", c.root, "b"), nfs3.StatusOK)
		want(t, "RENAME", c.rename(t, c.root, "b", c.root, "a"), nfs3.StatusOK)
	}
	text, err := os.ReadFile(filepath.Join(e.cfg.State, "handles"))
	check(t, err)
	if n := bytes.Count(text, []byte("\n")); n > 5000 {
		t.Errorf("%d lines for 2 files, after 6000 renames", n)
	}
	e.restart(t)
	_, code := e.client(t, auth(t, 1000, 1000)).attr(t, file)
	want(t, "GETATTR", code, nfs3.StatusOK)
}

// Two servers cannot use one state directory, and it cannot be below the export.
func TestStateDirectory(t *testing.T) {
	e := newExport(t, nfsd.Config{})
	if _, err := nfsd.New(e.cfg); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a second server: %v", err)
	}
	inside := e.cfg
	inside.State = filepath.Join(e.dir, "state")
	if _, err := nfsd.New(inside); err == nil || !strings.Contains(err.Error(), "below the exported") {
		t.Errorf("a state directory in the export: %v", err)
	}
}

// Only handles that the server made are accepted, and no input panics.
func FuzzHandle(f *testing.F) {
	e := newExport(f, nfsd.Config{Async: true})
	c := e.client(f, auth(f, 1000, 1000))
	file, _ := c.create(f, c.root, "file")
	f.Add(c.root.Data)
	f.Add(file.Data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, h []byte) {
		made := bytes.Equal(h, c.root.Data) || bytes.Equal(h, file.Data)
		if ok := e.server.Opens(h); ok != made {
			t.Errorf("%x: %v", h, ok)
		}
	})
}

// A configuration that cannot be served is refused before a state directory is made.
func TestRefusedConfig(t *testing.T) {
	base := t.TempDir()
	state, file := filepath.Join(base, "state"), filepath.Join(base, "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for _, test := range []struct {
		cfg  nfsd.Config
		text string
	}{
		{nfsd.Config{Dir: filepath.Join(base, "none"), State: state}, "no such file"},
		{nfsd.Config{Dir: file, State: state}, "expected a directory"},
		{nfsd.Config{Dir: base, State: state, Export: "export"}, "begins with /"},
	} {
		s, err := nfsd.New(test.cfg)
		if err == nil {
			check(t, s.Close())
		}
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%+v: %v, expected an error with %q", test.cfg, err, test.text)
		}
		if _, err := os.Stat(state); !os.IsNotExist(err) {
			t.Errorf("%+v: the state directory exists: %v", test.cfg, err)
		}
	}
}

// A local program removes or replaces some names of a file: its handle is valid while one of the
// names that the server knows is left.
func TestLocalChangeOfOneName(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "0")
	dir, _ := c.mkdir(t, c.root, "dir")
	for i, to := range []nfs3.DirOpArgs{c.at(c.root, "1"), c.at(dir, "2"), c.at(c.root, "3")} {
		res, err := c.Link(t.Context(), &nfs3.LinkArgs{File: file, Link: to})
		check(t, err)
		want(t, fmt.Sprint("LINK ", i), res.Status, nfs3.StatusOK)
	}
	step := func(what string, code nfs3.Status) {
		t.Helper()
		_, got := c.attr(t, file)
		want(t, "GETATTR after "+what, got, code)
	}
	check(t, os.Remove(filepath.Join(e.dir, "3")))
	step("one name was removed", nfs3.StatusOK)
	check(t, os.RemoveAll(filepath.Join(e.dir, "dir")))
	check(t, os.WriteFile(filepath.Join(e.dir, "dir"), nil, 0o644))
	step("a directory has become a file", nfs3.StatusOK)
	check(t, os.Remove(filepath.Join(e.dir, "1")))
	check(t, os.WriteFile(filepath.Join(e.dir, "1"), nil, 0o644))
	step("one name is another file's", nfs3.StatusOK)
	check(t, os.Remove(filepath.Join(e.dir, "0")))
	step("the last name was removed", nfs3.StatusStale)
}

// A local program puts another file in the place of one between the two system calls that find it
// and open it: the server does not open that file for the handle.
func TestReplacedFileIsNotOpened(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	check(t, os.WriteFile(filepath.Join(e.dir, "other"), nil, 0o644))
	check(t, e.server.OpenReplaced(file, func() {}))
	err := e.server.OpenReplaced(file, func() {
		check(t, os.Rename(filepath.Join(e.dir, "other"), filepath.Join(e.dir, "file")))
	})
	want(t, "open", nfsd.StatusOf(err), nfs3.StatusStale)
}

// If a local program replaces an object during a change, the reply has the attributes before it
// alone: a client would take the other object's for the result.
func TestReplacedObjectHasNoAttributesAfterAChange(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 1000, 1000))
	file, _ := c.create(t, c.root, "file")
	check(t, os.WriteFile(filepath.Join(e.dir, "other"), []byte("long"), 0o644))
	for _, replaced := range []bool{false, true} {
		wcc, err := e.server.ChangeOf(file, func() {
			if replaced {
				check(t, os.Rename(filepath.Join(e.dir, "other"), filepath.Join(e.dir, "file")))
			}
		})
		check(t, err)
		if !wcc.Before.AttributesFollow || wcc.After.AttributesFollow == replaced {
			t.Errorf("replaced %v: attributes before: %v, after: %v", replaced, wcc.Before.AttributesFollow, wcc.After.AttributesFollow)
		}
	}
}

// Files that are removed or replaced leave the table, also the one on the disk.
func TestRemovedFilesLeaveTheTable(t *testing.T) {
	e := newExport(t, nfsd.Config{Async: true})
	conn := mem.New(e.server.Handler(), nil)
	c := clientOver(t, conn, auth(t, 1000, 1000))
	for i := range 100 {
		name := fmt.Sprint("file", i)
		_, code := c.create(t, c.root, name)
		want(t, "CREATE", code, nfs3.StatusOK)
		if i%2 == 0 {
			want(t, "REMOVE", c.remove(t, c.root, name), nfs3.StatusOK)
		} else {
			want(t, "RENAME onto another file", c.rename(t, c.root, name, c.root, "one"), nfs3.StatusOK)
		}
		_, code = c.mkdir(t, c.root, name)
		want(t, "MKDIR", code, nfs3.StatusOK)
		want(t, "RMDIR", c.rmdir(t, c.root, name), nfs3.StatusOK)
	}
	check(t, conn.Close())
	for range 2 { // the first start reads the lines of all changes
		e.restart(t)
		text, err := os.ReadFile(filepath.Join(e.cfg.State, "handles"))
		check(t, err)
		if n := bytes.Count(text, []byte("\n")); n != 2 {
			t.Errorf("the table has %d lines, expected one for the export and one for the file", n)
		}
	}
}
