package localfs

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const tableRoot, tableGen = 1, 5

// opened returns the table of a state directory.
func opened(t *testing.T, state string, root, gen uint64, log *bytes.Buffer) *table {
	t.Helper()
	tab, err := openTable(state, root, gen, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// added adds a name, which must not fail.
func added(t *testing.T, tab *table, ino, gen uint64, links bool, name string) uint64 {
	t.Helper()
	got, err := tab.add(ino, gen, links, tableRoot, name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantPaths checks the paths of a file.
func wantPaths(t *testing.T, what string, tab *table, ino, gen uint64, want ...string) {
	t.Helper()
	if got, _ := tab.paths(ino, gen); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: file %d has the paths %v, expected %v", what, ino, got, want)
	}
}

// The table of another directory, or of a later one with the inode number, has another key: its
// handles are refused. A line that is broken changes nothing.
func TestTableIsOfOneDirectory(t *testing.T) {
	var log bytes.Buffer
	state := t.TempDir()
	tab := opened(t, state, tableRoot, tableGen, &log)
	added(t, tab, 10, 3, false, "a")
	added(t, tab, 11, 3, false, "b")
	key := tab.key
	if err := tab.close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(state, tableFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `{"Ino":10,"Gen":"broken"}`+"\n"...)
	for _, tt := range []struct {
		what      string
		root, gen uint64
		same      bool
	}{
		{"the directory", tableRoot, tableGen, true}, {"a system without generations", tableRoot, 0, true},
		{"another directory", tableRoot + 1, tableGen, false}, {"a later directory", tableRoot, tableGen + 1, false},
	} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		tab := opened(t, state, tt.root, tt.gen, &log)
		if bytes.Equal(tab.key, key) != tt.same {
			t.Errorf("%s: the same key: %v, expected %v", tt.what, !tt.same, tt.same)
		}
		if tt.same {
			wantPaths(t, tt.what, tab, 10, 3, "a")
			wantPaths(t, tt.what, tab, 11, 3, "b")
		}
		if err := tab.close(); err != nil {
			t.Error(err)
		}
	}
}

// A file has the names by which it was seen, newest first: one if it has no links, and at most 16.
// A known name changes nothing. Handles of another generation lead nowhere.
func TestTableKeepsTheNamesOfAFile(t *testing.T) {
	var log bytes.Buffer
	tab := opened(t, t.TempDir(), tableRoot, tableGen, &log)
	defer tab.close()
	added(t, tab, 10, 3, false, "a")
	lines := tab.lines
	if added(t, tab, 10, 3, false, "a"); tab.lines != lines {
		t.Errorf("a known name took %d lines", tab.lines-lines)
	}
	added(t, tab, 10, 3, false, "b") // renamed by a local program
	wantPaths(t, "renamed", tab, 10, 3, "b")
	added(t, tab, 10, 3, true, "c")
	added(t, tab, 10, 3, true, "b")
	wantPaths(t, "a link", tab, 10, 3, "c", "b")
	wantPaths(t, "another generation", tab, 10, 4)
	added(t, tab, 10, 4, false, "d")
	wantPaths(t, "a later file", tab, 10, 4, "d")
	wantPaths(t, "the file before", tab, 10, 3)
	tab.confirm(10, 3, time.Unix(1, 0))
	if _, at := tab.paths(10, 4); !at.IsZero() {
		t.Errorf("a change of the file before is noted: %v", at)
	}
	for i := range 2 * maxPlaces {
		added(t, tab, 11, 3, true, fmt.Sprint(i))
	}
	if paths, _ := tab.paths(11, 3); len(paths) != maxPlaces || paths[0] != fmt.Sprint(2*maxPlaces-1) {
		t.Errorf("%d links: %v", 2*maxPlaces, paths)
	}
	// Without generations a file that has moved may be another one.
	first := added(t, tab, 12, 0, false, "x")
	if again := added(t, tab, 12, 0, false, "y"); again == first {
		t.Error("a file that has moved keeps its generation, though the system does not provide one")
	}
}

// A move or removal of a name that the table does not have changes nothing. A file without names
// leaves the table.
func TestTableFollowsNames(t *testing.T) {
	var log bytes.Buffer
	tab := opened(t, t.TempDir(), tableRoot, tableGen, &log)
	defer tab.close()
	added(t, tab, 10, 3, false, "a")
	tab.move(10, tableRoot, "other", tableRoot, "b")
	wantPaths(t, "another name moved", tab, 10, 3, "a")
	tab.move(10, tableRoot, "a", tableRoot, "b")
	wantPaths(t, "moved", tab, 10, 3, "b")
	tab.remove(10, tableRoot, "a")
	wantPaths(t, "another name removed", tab, 10, 3, "b")
	if tab.remove(10, tableRoot, "b"); tab.entries[10] != nil {
		t.Error("a file without names stays")
	}
}

// If the log cannot be written, a file gets no handle and the table is as before. A name that has
// moved is written later. The failure and its end are logged once each.
func TestTableWithoutItsLog(t *testing.T) {
	var log bytes.Buffer
	state := t.TempDir()
	tab := opened(t, state, tableRoot, tableGen, &log)
	added(t, tab, 10, 3, false, "a")
	good := tab.log
	bad, err := os.Open(filepath.Join(state, tableFile)) // for reading only
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	tab.log = bad
	for range 3 {
		if _, err := tab.add(11, 3, false, tableRoot, "new"); err == nil || tab.entries[11] != nil || tab.late[11] {
			t.Errorf("a new file: %v, entry %v, late %v", err, tab.entries[11], tab.late[11])
		}
	}
	if _, err := tab.add(10, 3, true, tableRoot, "b"); err == nil {
		t.Error("a further name is noted")
	}
	wantPaths(t, "after the failures", tab, 10, 3, "a")
	tab.move(10, tableRoot, "a", tableRoot, "c")
	tab.log = good
	lines := tab.lines
	if err := tab.close(); err != nil || tab.lines != lines+1 || len(tab.late) != 0 {
		t.Errorf("close: %v, %d lines more, %d late", err, tab.lines-lines, len(tab.late))
	}
	if got := log.String(); strings.Count(got, "cannot be written") != 1 {
		t.Errorf("logged: %s", got)
	}
	tab = opened(t, state, tableRoot, tableGen, &log)
	defer tab.close()
	wantPaths(t, "after a restart", tab, 10, 3, "c")
}

// The file is written again when most lines are out of date. If that fails, the old one stays, no
// other is left, and the next attempt waits for twice as many lines.
func TestTableIsWrittenAgain(t *testing.T) {
	var log bytes.Buffer
	state := t.TempDir()
	tab := opened(t, state, tableRoot, tableGen, &log)
	defer tab.close()
	names := []string{"a", "b"}
	for i := range minLines + 10 {
		added(t, tab, 10, 3, false, names[i%2])
	}
	if tab.lines > 20 || len(tab.late) != 0 {
		t.Errorf("%d lines, %d late", tab.lines, len(tab.late))
	}
	// A folder in the place of the file: it cannot be renamed onto.
	if err := os.Remove(filepath.Join(state, tableFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(state, tableFile, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range minLines + 10 {
		added(t, tab, 10, 3, false, names[i%2])
	}
	if _, err := os.Lstat(filepath.Join(state, tableFile+".new")); !os.IsNotExist(err) {
		t.Errorf("the new file of a failed attempt: %v", err)
	}
	if tab.enough <= minLines || tab.lines < minLines {
		t.Errorf("after a failed attempt: %d lines, the next at %d", tab.lines, tab.enough)
	}
}

// After the file is written again, nothing is left to write later, and no attempt has to wait.
func TestTableThatIsWrittenAgainIsWhole(t *testing.T) {
	var log bytes.Buffer
	tab := opened(t, t.TempDir(), tableRoot, tableGen, &log)
	defer tab.close()
	added(t, tab, 10, 3, false, "a")
	tab.late[10], tab.enough = true, 99
	if err := tab.rewrite(); err != nil || len(tab.late) != 0 || tab.enough != 0 || tab.lines != 2 {
		t.Errorf("%v: %d lines late, the next attempt at %d, %d lines", err, len(tab.late), tab.enough, tab.lines)
	}
}

// A path has at most maxDepth names, so a loop in the table, which a broken file may have, ends.
func TestPathsOfTheTableEnd(t *testing.T) {
	var log bytes.Buffer
	tab := opened(t, t.TempDir(), tableRoot, tableGen, &log)
	defer tab.close()
	for i := uint64(tableRoot + 1); i <= tableRoot+maxDepth+1; i++ {
		tab.entries[i] = &entry{Ino: i, Gen: 3, Places: []place{{i - 1, []byte("d")}}}
	}
	for i, want := range map[uint64]int{tableRoot + maxDepth: maxDepth, tableRoot + maxDepth + 1: 0} {
		paths, _ := tab.paths(i, 3)
		n := 0
		if len(paths) > 0 {
			n = strings.Count(paths[0], "/") + 1
		}
		if n != want {
			t.Errorf("directory %d of a chain: a path of %d names, want %d", i-tableRoot, n, want)
		}
	}
	tab.entries[5].Places[0].Dir = 7 // a loop
	if paths, _ := tab.paths(6, 3); len(paths) != 0 {
		t.Errorf("a file in a loop has the paths %v", paths)
	}
}
