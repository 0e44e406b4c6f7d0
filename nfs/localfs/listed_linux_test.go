package localfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// idsOf lists a directory, and returns the IDs of its files.
func idsOf(t *testing.T, d vfs.Node) map[string]vfs.ID {
	t.Helper()
	ids := map[string]vfs.ID{}
	_, err := d.ReadDir(0, func(e vfs.Entry) bool {
		if e.Name != "." && e.Name != ".." {
			n, _, err := d.Lookup(e.Name)
			check(t, err)
			ids[e.Name], err = n.ID()
			check(t, err)
		}
		return true
	})
	check(t, err)
	return ids
}

// servedAgain closes an FS and opens it again.
func servedAgain(t *testing.T, l *FS, dir string) *FS {
	t.Helper()
	check(t, l.Close())
	again, err := Open(Config{Dir: dir, State: filepath.Join(dir, "..", "state")})
	check(t, err)
	*l = *again // which the test closes
	return l
}

// Files that were only listed leave the table, the oldest first, and with a restart. A file whose
// ID was used, or that was looked up, moved or has names below it, stays.
func TestListedNamesLeaveTheTable(t *testing.T) {
	l, dir := served(t)
	const most, files = 100, 300
	l.table.listed.most = most
	check(t, os.MkdirAll(filepath.Join(dir, "d", "below"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "d", "below", "deep"), nil, 0o600))
	for i := range files {
		check(t, os.WriteFile(filepath.Join(dir, "d", fmt.Sprint(i)), nil, 0o600))
	}
	d, _ := at(t, l, "d")
	lines, entries := l.table.lines, len(l.table.entries)
	ids := idsOf(t, d)
	if l.table.lines != lines || len(l.table.entries) != entries {
		t.Errorf("a listing adds %d lines and %d entries", l.table.lines-lines, len(l.table.entries)-entries)
	}
	if got := len(l.table.listed.files); got != most {
		t.Errorf("%d files are kept, expected %d", got, most)
	}
	alive := map[string]bool{}
	for name, id := range ids {
		_, _, err := l.Resolve(id)
		if err != nil && !errors.Is(err, vfs.ErrStale) {
			t.Fatal(err)
		}
		alive[name] = err == nil
	}
	if n := len(l.table.entries) - entries; n != most || len(l.table.listed.files) != 0 {
		t.Errorf("%d files of %d were used and stay, %d are in the listing still", n, most, len(l.table.listed.files))
	}
	for name, id := range idsOf(t, d) {
		if id != ids[name] {
			t.Errorf("%s has another ID when it is listed again", name)
		}
	}
	names := []string{}
	for i := range files {
		if name := fmt.Sprint(i); !alive[name] {
			names = append(names, name)
		}
	}
	l.table.listed = listed{most: maxListed}
	idsOf(t, d)
	looked, moved := names[0], names[1]
	n, id := at(t, l, "d/"+looked)
	if id != ids[looked] {
		t.Error("a file has another ID when it is looked up")
	}
	_, err := n.Attr()
	check(t, err)
	check(t, d.Rename(moved, d, "moved"))
	_, deep := at(t, l, "d/below/deep")
	check(t, d.Remove(names[2]))

	l = servedAgain(t, l, dir)
	alive[looked], alive[moved] = true, true
	for name, id := range ids {
		if _, _, err := l.Resolve(id); (err == nil) != (alive[name] || name == "below") {
			t.Errorf("%s after a restart: %v, expected that it is found: %v", name, err, alive[name])
		}
	}
	if _, _, err := l.Resolve(deep); err != nil {
		t.Errorf("a file below a directory that was listed: %v", err)
	}
}

// A Node that was found in a listing is used after it: the names below it have IDs that stay.
func TestNamesBelowAListedDirectory(t *testing.T) {
	l, dir := served(t)
	check(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	root, _, err := l.Root()
	check(t, err)
	var ids []vfs.ID
	_, err = root.ReadDir(0, func(e vfs.Entry) bool {
		if e.Name != "a" {
			return true
		}
		a, _, err := root.Lookup("a")
		check(t, err)
		id, err := a.ID()
		check(t, err)
		b, _, err := a.Lookup("b")
		check(t, err)
		below, err := b.ID()
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		check(t, root.Rename("file", a, "file"))
		file, _, err := a.Lookup("file")
		check(t, err)
		fileID, err := file.ID()
		check(t, err)
		ids = []vfs.ID{id, below, fileID}
		return false
	})
	check(t, err)
	l = servedAgain(t, l, dir)
	if len(ids) != 3 {
		t.Fatal("the directory is not listed")
	}
	for i, id := range ids {
		if _, _, err := l.Resolve(id); err != nil {
			t.Errorf("ID %d of the directory and the two below: %v", i, err)
		}
	}
}

// Any number of listed names takes bounded memory, and no line of the log, and the table opens
// without them. A removed file makes room, and is never confused with a later one.
func TestListedNamesAreBounded(t *testing.T) {
	var log bytes.Buffer
	state := t.TempDir()
	tab := opened(t, state, tableRoot, tableGen, &log)
	list := func(ino, gen uint64, name string) {
		t.Helper()
		if got, err := tab.list(ino, gen, time.Unix(1, 0), false, tableRoot, name); got != gen || err != nil {
			t.Fatalf("generation %d, %v, expected %d", got, err, gen)
		}
	}
	for n := uint64(10); n < 100_010; n++ {
		list(n, n+1, "name")
	}
	for n := uint64(10); n < 100_010; n++ { // a second listing is the same one
		if gen, ok := tab.unchanged(n, time.Unix(1, 0), tableRoot, "name", true); gen != n+1 || !ok {
			t.Fatalf("file %d has generation %d, %v", n, gen, ok)
		}
		list(n, n+1, "name")
	}
	for n := uint64(1 << 20); n < 1<<20+3*maxListed; n++ {
		list(n, 7, "other")
	}
	if l := &tab.listed; len(l.files) != maxListed || len(l.order) != maxListed || tab.lines != 1 {
		t.Errorf("%d files in %d places, %d lines, expected %d files and 1 line", len(l.files), len(l.order), tab.lines, maxListed)
	}
	const last = 1<<20 + 3*maxListed - 1
	wantPaths(t, "the oldest", tab, 10, 11)
	tab.remove(last, tableRoot, "name") // another name
	wantPaths(t, "the newest", tab, last, 7, "other")
	if tab.lines != 2 || len(tab.listed.files) != maxListed-1 {
		t.Errorf("after the use of a file: %d lines, %d files in listings", tab.lines, len(tab.listed.files))
	}
	tab.remove(last-1, tableRoot, "other")
	wantPaths(t, "a removed file", tab, last-1, 7)
	list(last-1, 8, "later")
	wantPaths(t, "an earlier file with the number", tab, last-1, 7)
	wantPaths(t, "a later file with the number", tab, last-1, 8, "later")
	for _, tt := range []struct {
		what      string
		changed   int64
		dir       uint64
		name      string
		inListing bool
		want      bool
	}{
		{"as it was listed", 1, tableRoot, "other", true, true},
		{"changed", 2, tableRoot, "other", true, false},
		{"in another directory", 1, 5, "other", true, false},
		{"with another name", 1, tableRoot, "name", true, false},
		{"looked up", 1, tableRoot, "other", false, false},
	} {
		if _, ok := tab.unchanged(last-2, time.Unix(tt.changed, 0), tt.dir, tt.name, tt.inListing); ok != tt.want {
			t.Errorf("a file %s is known: %v", tt.what, ok)
		}
	}
	check(t, tab.close())
	tab = opened(t, state, tableRoot, tableGen, &log)
	defer tab.close()
	if len(tab.entries) != 3 { // the root, and two that were used
		t.Errorf("%d entries after a restart", len(tab.entries))
	}
}

// A file that left and was listed again is as new as its last listing.
func TestListedAgainIsNew(t *testing.T) {
	l := listed{most: 4}
	for _, ino := range []uint64{1, 2, 3, 4, 5} {
		l.put(ino, seen{})
	}
	delete(l.files, 3)
	l.put(3, seen{})
	l.put(6, seen{})
	for ino, want := range []bool{false, false, false, true, true, true, true} {
		if _, got := l.files[uint64(ino)]; got != want {
			t.Errorf("file %d is kept: %v, expected %v", ino, got, want)
		}
	}
}

// Where the system has no generations, an ID that is forgotten would not come again: the table
// keeps it.
func TestListedNamesWithoutGenerationsStay(t *testing.T) {
	var log bytes.Buffer
	tab := opened(t, t.TempDir(), tableRoot, tableGen, &log)
	defer tab.close()
	gen, err := tab.list(10, 0, time.Time{}, false, tableRoot, "a")
	check(t, err)
	if len(tab.listed.files) != 0 || len(tab.entries) != 2 {
		t.Errorf("%d files are in the listing, %d in the table", len(tab.listed.files), len(tab.entries))
	}
	wantPaths(t, "the file", tab, 10, gen, "a")
}

// If the disk of the log is full, an ID of a listing can be used all the same, and stays in the
// listing.
func TestListedNameIsUsedOnFullDisk(t *testing.T) {
	var log bytes.Buffer
	tab := opened(t, t.TempDir(), tableRoot, tableGen, &log)
	defer tab.close()
	good := tab.log
	bad, err := os.Open(tab.name) // for reading only
	check(t, err)
	defer bad.Close()
	tab.log = bad
	_, err = tab.list(10, 3, time.Time{}, false, tableRoot, "a")
	check(t, err)
	wantPaths(t, "with a full disk", tab, 10, 3, "a")
	if len(tab.entries) != 1 || len(tab.late) != 0 || len(tab.listed.files) != 1 {
		t.Errorf("%d entries, %d lines late, %d files listed", len(tab.entries), len(tab.late), len(tab.listed.files))
	}
	if got := tab.parent(10); got != tableRoot || tab.generation(10) != 3 {
		t.Errorf("the parent is %d, the generation %d", got, tab.generation(10))
	}
	tab.move(10, tableRoot, "a", tableRoot, "b") // has happened
	tab.log = good
	wantPaths(t, "moved", tab, 10, 3, "b")
	if len(tab.late) != 1 || len(tab.listed.files) != 0 {
		t.Errorf("moved: %d lines late, %d files listed", len(tab.late), len(tab.listed.files))
	}
}

// A file that was listed by two names is found by the one that stays.
func TestListedFileKeepsItsOtherName(t *testing.T) {
	for name, remove := range map[string]func(d vfs.Node, dir string) error{
		"by a client":        func(d vfs.Node, _ string) error { return d.Remove("second") },
		"by a local program": func(_ vfs.Node, dir string) error { return os.Remove(filepath.Join(dir, "d/second")) },
	} {
		t.Run(name, func(t *testing.T) {
			l, dir := served(t)
			check(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
			check(t, os.WriteFile(filepath.Join(dir, "d/first"), nil, 0o600))
			check(t, os.Link(filepath.Join(dir, "d/first"), filepath.Join(dir, "d/second")))
			d, _ := at(t, l, "d")
			id := idsOf(t, d)["first"]
			check(t, remove(d, dir))
			if _, _, err := l.Resolve(id); err != nil {
				t.Errorf("the file by its other name: %v", err)
			}
		})
	}
}
