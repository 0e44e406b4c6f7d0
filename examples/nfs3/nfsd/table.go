package nfsd

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	maxPlaces = 16   // names of one file that the table keeps
	maxDepth  = 4096 // directories in a path
	minLines  = 4096 // of the file before it is written again
	tableFile = "handles"
)

// table finds the path of a file by its inode number. It has each file that a handle was issued
// for. Each change is appended to a file of the state directory as a line of JSON, and openTable
// writes that file again with one line for each file. The operating system may lose the last lines
// in a crash of its own: the handles of these lines are then stale.
type table struct {
	mu      sync.Mutex
	key     []byte // of the handles
	root    uint64 // inode number of the export
	entries map[uint64]*entry
	name    string
	log     *os.File // of that name
	lines   int      // of log
	lock    *os.File
}

// entry is a file.
type entry struct {
	Ino    uint64
	Gen    uint64  // distinguishes files that have the inode number one after the other
	Places []place `json:",omitempty"` // newest first; a directory has one, the export none
	Key    []byte  `json:",omitempty"` // of the handles; only in the line of the export, the first
}

// place is a name in a directory.
type place struct {
	Dir  uint64
	Name []byte // any bytes; JSON has them in base64
}

// openTable reads the table of a state directory, or makes one if it has none for this export.
func openTable(state string, root, gen uint64) (_ *table, err error) {
	t := &table{root: root, entries: map[uint64]*entry{}}
	if t.lock, err = lockFile(filepath.Join(state, "lock")); err != nil {
		return nil, fmt.Errorf("nfsd: state directory %s: %w: is another server using it?", state, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	name := filepath.Join(state, tableFile)
	if err := t.load(name, gen); err != nil {
		return nil, err
	}
	if t.key == nil {
		t.key = make([]byte, 32)
		_, _ = rand.Read(t.key)                              // never fails
		t.entries[root] = &entry{Ino: root, Gen: known(gen)} // of no other export
	}
	t.name = name
	return t, t.rewrite()
}

// load reads the file of a table. It skips lines that are incomplete, which a crash or a full disk
// can leave: the files of these have stale handles.
func (t *table) load(name string, gen uint64) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for first := true; ; first = false {
		var e entry
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		bad := json.Unmarshal(line, &e) != nil
		switch {
		case bad && !first:
		case first && (bad || e.Ino != t.root || gen != 0 && e.Gen != gen || len(e.Key) == 0):
			return nil // of another directory: its handles are refused
		case first:
			t.key = e.Key
			e.Key = nil
			t.entries[e.Ino] = &e
		case len(e.Places) == 0:
			delete(t.entries, e.Ino)
		default:
			t.entries[e.Ino] = &e
		}
	}
}

// rewrite replaces the file by one with a line for each entry, the export first.
func (t *table) rewrite() error {
	log, err := os.OpenFile(t.name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(t.writeAll(log), os.Rename(t.name+".new", t.name)); err != nil {
		return errors.Join(err, log.Close())
	}
	if t.log != nil {
		err = t.log.Close()
	}
	t.log, t.lines = log, len(t.entries)
	return err
}

func (t *table) writeAll(log *os.File) error {
	w := bufio.NewWriter(log)
	lines := json.NewEncoder(w)
	first := *t.entries[t.root]
	first.Key = t.key
	err := lines.Encode(&first)
	for ino, e := range t.entries {
		if ino != t.root {
			err = errors.Join(err, lines.Encode(e))
		}
	}
	return errors.Join(err, w.Flush(), log.Sync())
}

func (t *table) close() error {
	var err error
	if t.log != nil {
		err = t.log.Close()
	}
	return errors.Join(err, t.lock.Close())
}

// record appends an entry to the file. With twice as many lines as entries, it is written again, so
// that a client that renames a file all the time fills no disk.
func (t *table) record(e *entry) error {
	if t.lines++; t.lines > 2*len(t.entries)+minLines {
		return t.rewrite()
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = t.log.Write(append(line, '\n'))
	}
	return err
}

// known returns a generation for a handle: the system's, or a random one if the system has none.
func known(gen uint64) uint64 {
	for gen == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		gen = binary.BigEndian.Uint64(b[:])
	}
	return gen
}

// add notes that a file has a name, and returns its generation. gen is the system's, 0 if it has
// none. links is true if the file may have further names.
func (t *table) add(ino, gen uint64, links bool, dir uint64, name string) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ino == t.root {
		return t.entries[ino].Gen, nil
	}
	e, at := t.entries[ino], place{dir, []byte(name)}
	switch {
	case e != nil && (gen == 0 || e.Gen == gen):
		if e.has(at) && (links || len(e.Places) == 1) {
			return e.Gen, nil
		}
		// The file has moved, or has one more name. Without generations it may be another file.
		if gen == 0 && !links {
			e.Gen = known(0)
		}
		if !links {
			e.Places = nil
		}
	default:
		e = &entry{Ino: ino, Gen: known(gen)}
		t.entries[ino] = e
	}
	e.remove(at)
	e.Places = slices.Insert(e.Places, 0, at)
	e.Places = e.Places[:min(len(e.Places), maxPlaces)]
	return e.Gen, t.record(e)
}

// move notes that a file has another name instead of one that it had.
func (t *table) move(ino, fromDir uint64, from string, toDir uint64, to string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[ino]
	if e == nil || !e.has(place{fromDir, []byte(from)}) {
		return nil
	}
	at := place{toDir, []byte(to)}
	e.remove(place{fromDir, []byte(from)})
	e.remove(at)
	e.Places = slices.Insert(e.Places, 0, at)
	return t.record(e)
}

// remove notes that a file has lost a name.
func (t *table) remove(ino, dir uint64, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[ino]
	if e == nil || !e.has(place{dir, []byte(name)}) {
		return nil
	}
	e.remove(place{dir, []byte(name)})
	if len(e.Places) == 0 {
		delete(t.entries, ino)
	}
	return t.record(e)
}

// paths returns the paths that a file had when it was seen last. There are none if no handle was
// issued for the file, or for the file of this generation.
func (t *table) paths(ino, gen uint64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[ino]
	if e == nil || e.Gen != gen {
		return nil
	}
	if ino == t.root {
		return []string{"."}
	}
	var paths []string
	for _, at := range e.Places {
		if path, ok := t.path(at); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// path returns the path of a place.
func (t *table) path(at place) (string, bool) {
	parts := []string{string(at.Name)}
	for at.Dir != t.root {
		e := t.entries[at.Dir]
		if e == nil || len(e.Places) == 0 || len(parts) == maxDepth {
			return "", false
		}
		at = e.Places[0]
		parts = append(parts, string(at.Name))
	}
	slices.Reverse(parts)
	return strings.Join(parts, "/"), true
}

// parent returns the directory of a directory. The export is its own, so that no client leaves it.
func (t *table) parent(ino uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[ino]; e != nil && len(e.Places) > 0 {
		return e.Places[0].Dir
	}
	return t.root
}

// generation returns the generation of a file in the table.
func (t *table) generation(ino uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[ino]; e != nil {
		return e.Gen
	}
	return 0
}

func (e *entry) has(at place) bool { return slices.ContainsFunc(e.Places, at.equal) }

func (e *entry) remove(at place) { e.Places = slices.DeleteFunc(e.Places, at.equal) }

func (p place) equal(q place) bool { return p.Dir == q.Dir && string(p.Name) == string(q.Name) }
