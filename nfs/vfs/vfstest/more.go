package vfstest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// attributes checks SetAttr.
func (t *tester) attributes() {
	root := t.root()
	n, a := t.create(root, "file", 0o640)
	if a.Mode != 0o640 || a.Size != 0 || a.Ino == 0 || a.FSID != t.attr(root).FSID {
		t.Errorf("a new file has the attributes %+v", a)
	}
	for _, mode := range []fs.FileMode{0o751, 0o400, fs.ModeSetuid | 0o755, fs.ModeSticky | 0o600, 0o644} {
		t.ok(n.SetAttr(vfs.Change{Mode: &mode}))
		if got := t.attr(n).Mode; got != mode {
			t.Errorf("the mode is %v, expected %v", got, mode)
		}
	}
	f := t.open(n, vfs.Write)
	t.ok(f.Chmod(0o600))
	if got := t.attr(n).Mode; got != 0o600 {
		t.Errorf("the mode is %v, expected 0600", got)
	}
	atime, mtime := time.Unix(1_000_000, 0), time.Unix(2_000_000, 0)
	t.ok(n.SetAttr(vfs.Change{Atime: atime}))
	was := t.attr(n).Mtime
	t.ok(n.SetAttr(vfs.Change{Mtime: mtime}))
	if a := t.attr(n); !a.Atime.Equal(atime) || !a.Mtime.Equal(mtime) || was.Equal(mtime) || a.Ctime.Before(was) {
		t.Errorf("the times are %v, %v, %v", a.Atime, a.Mtime, a.Ctime)
	}
	dir := t.dir(root, "dir")
	mode := fs.ModeSticky | fs.FileMode(0o777)
	t.ok(dir.SetAttr(vfs.Change{Mode: &mode}))
	if got := t.attr(dir).Mode; got != fs.ModeDir|mode {
		t.Errorf("the directory's mode is %v", got)
	}
	uid, gid := uint32(1234), uint32(2345)
	if info := t.fs.Info(); info.Single {
		if a := t.attr(n); a.UID != info.UID {
			t.Errorf("user %d owns a new file, expected %d", a.UID, info.UID)
		}
		return
	}
	t.ok(n.SetAttr(vfs.Change{UID: &uid}))
	t.ok(n.SetAttr(vfs.Change{GID: &gid}))
	if a := t.attr(n); a.UID != uid || a.GID != gid {
		t.Errorf("the owner is %d, %d, expected %d, %d", a.UID, a.GID, uid, gid)
	}
}

// kinds checks objects other than files and directories.
func (t *tester) kinds() {
	root := t.root()
	n, a, err := root.Create("link", vfs.New{Mode: fs.ModeSymlink | 0o777, Target: "../else where\xff"})
	t.ok(err)
	if to, err := n.ReadLink(); to != "../else where\xff" || err != nil || a.Mode.Type() != fs.ModeSymlink {
		t.Errorf("the link leads to %q, %v, its mode is %v", to, err, a.Mode)
	}
	t.leads("a symbolic link", t.id(n), a.Ino)
	_, err = n.Open(vfs.Read)
	t.fails("Open of a link", err, fs.ErrInvalid)
	_, _, err = n.Lookup("x")
	t.fails("Lookup in a link", err, vfs.ErrNotDir)
	_, err = t.file(root, "file").ReadLink()
	t.fails("ReadLink of a file", err, fs.ErrInvalid)
	for _, mode := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeSocket} {
		n, a, err := root.Create(mode.String(), vfs.New{Mode: mode | 0o600})
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		t.ok(err)
		if a.Mode.Type() != mode {
			t.Errorf("the mode is %v, expected %v", a.Mode, mode)
		}
		_, err = n.Open(vfs.Read)
		t.fails("Open of "+mode.String(), err, fs.ErrInvalid)
	}
}

// removed checks Nodes and Files whose file was removed.
func (t *tester) removed() {
	root := t.root()
	n := t.file(root, "file")
	t.write(n, "text", 0)
	f := t.open(n, vfs.Read|vfs.Write)
	id := t.id(n)
	t.ok(root.Remove("file"))
	t.stale("a removed file", id)
	other := t.file(root, "file")
	p := make([]byte, 4)
	if _, err := f.ReadAt(p, 0); err != nil || string(p) != "text" {
		t.Errorf("an open file that was removed has %q, %v", p, err)
	}
	_, err := f.WriteAt([]byte("more"), 4)
	t.ok(err)
	if text := t.content(other); len(text) != 0 {
		t.Errorf("a new file of the name has %q", text)
	}
	if _, err := n.Attr(); err == nil {
		t.Error("a Node of a removed file has attributes")
	}
	if _, err := n.Open(vfs.Read); err == nil {
		t.Error("a Node of a removed file can be opened")
	}
	dir := t.dir(root, "dir")
	t.ok(root.Remove("dir"))
	if _, _, err := dir.Create("x", vfs.New{Mode: 0o600}); err == nil {
		t.Error("a removed directory takes a name")
	}
}

// concurrent uses an FS from several goroutines, with the locks that the package comment of vfs
// wants.
func (t *tester) concurrent() {
	var tree sync.RWMutex
	root := t.root()
	shared := t.file(root, "shared")
	sharedID := t.id(shared)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 50 {
				if err := t.step(&tree, sharedID, fmt.Sprintf("%d-%d", i, k), byte(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if names := t.list(root, 100, nil); len(names) != 1+8*25 {
		t.Errorf("found %d names", len(names))
	}
}

// step makes a file, writes to it, reads one that others write, and removes the file or not.
func (t *tester) step(tree *sync.RWMutex, shared vfs.ID, name string, b byte) error {
	tree.Lock()
	root, _, err := t.fs.Root()
	if err != nil {
		tree.Unlock()
		return err
	}
	n, _, err := root.Create(name, vfs.New{Mode: 0o600})
	if err != nil {
		tree.Unlock()
		return err
	}
	id, err := n.ID()
	tree.Unlock()
	if err != nil {
		return err
	}
	for _, id := range []vfs.ID{id, shared} {
		tree.RLock()
		n, _, err := t.fs.Resolve(id)
		var f vfs.File
		if err == nil {
			f, err = n.Open(vfs.Read | vfs.Write)
		}
		tree.RUnlock()
		if err != nil {
			return err
		}
		p := []byte{b}
		_, err = f.WriteAt(p, int64(b))
		if err == nil {
			_, err = f.ReadAt(p, int64(b))
		}
		if err = errors.Join(err, f.Close()); err != nil || p[0] != b {
			return fmt.Errorf("read %d after writing %d: %w", p[0], b, err)
		}
	}
	if name[len(name)-1]%2 == 0 {
		return nil
	}
	tree.Lock()
	defer tree.Unlock()
	root, _, err = t.fs.Root()
	return errors.Join(err, root.Remove(name))
}

// model makes, renames and removes names at random, and compares the tree with a map.
func (t *tester) model() {
	rnd := rand.New(rand.NewPCG(1, 2))
	type object struct {
		id  vfs.ID
		ino uint64
	}
	model := map[string]object{}
	names := []string{"a", "b", "c", "d"}
	dirs := []vfs.Node{t.dir(t.root(), "x"), t.dir(t.root(), "y")}
	for range 2000 {
		d, e := rnd.IntN(2), rnd.IntN(2)
		from, to := names[rnd.IntN(4)], names[rnd.IntN(4)]
		key, target := fmt.Sprint(d, from), fmt.Sprint(e, to)
		old, exists := model[key]
		switch rnd.IntN(3) {
		case 0:
			n, a, err := dirs[d].Create(from, vfs.New{Mode: 0o600})
			if exists {
				t.fails("Create", err, fs.ErrExist)
				continue
			}
			t.ok(err)
			model[key] = object{t.id(n), a.Ino}
		case 1:
			err := dirs[d].Remove(from)
			if !exists {
				t.fails("Remove", err, fs.ErrNotExist)
				continue
			}
			t.ok(err)
			delete(model, key)
			t.stale("Remove", old.id)
		case 2:
			err := dirs[d].Rename(from, dirs[e], to)
			if !exists {
				t.fails("Rename", err, fs.ErrNotExist)
				continue
			}
			t.ok(err)
			delete(model, key)
			if over, replaced := model[target]; replaced && key != target {
				t.stale("Rename onto", over.id)
			}
			model[target] = old
		}
	}
	for key, o := range model {
		t.leads(key, o.id, o.ino)
	}
	if n := len(t.list(dirs[0], 3, nil)) + len(t.list(dirs[1], 1, nil)); n != len(model) {
		t.Errorf("found %d names, expected %d", n, len(model))
	}
}

// restart checks that files and IDs outlive an FS.
func (t *tester) restart() {
	if t.cfg.Reopen == nil {
		t.Skip("files do not outlive the FS")
	}
	dir := t.dir(t.root(), "dir")
	file, gone := t.file(dir, "file"), t.file(dir, "gone")
	t.write(file, "text", 0)
	id, goneID, ino := t.id(file), t.id(gone), t.attr(file).Ino
	t.ok(dir.Rename("file", t.root(), "moved"))
	t.ok(dir.Remove("gone"))
	t.fs = t.cfg.Reopen(t.T, t.fs)
	if text := t.content(t.leads("a file after a restart", id, ino)); string(text) != "text" {
		t.Errorf("the file has %q", text)
	}
	t.stale("a file that was removed before a restart", goneID)
}
