package localfs

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxPlaces = 16   // names of one file that the table keeps
	maxDepth  = 4096 // directories in a path
	minLines  = 4096 // of the file before it is written again
	tableFile = "handles"
)

// table finds the path of a file by its inode number. It has each file that a handle was issued
// for, except that files whose handles came from listings alone leave it: see listed. Each change
// is appended to a file of the state directory as a line of JSON, and openTable writes that file
// again with one line for each file. The operating system may lose the last lines when it crashes:
// the handles of these lines are then stale.
type table struct {
	mu      sync.Mutex
	key     []byte    // of the handles
	macs    sync.Pool // of *keyed
	root    uint64    // inode number of the export
	entries map[uint64]*entry
	listed  listed // files that entries does not have
	name    string
	log     *os.File        // of that name
	lines   int             // of log
	enough  int             // lines before log is written again, if there was no space for that
	late    map[uint64]bool // files whose lines log lacks, because the disk was full
	logger  *slog.Logger
	failing bool // the last line could not be written, and logger knows
	lock    *os.File
}

// entry is a file.
type entry struct {
	Ino    uint64
	Gen    uint64  // distinguishes successive files with one inode number
	Places []place `json:",omitempty"` // newest first; a directory has one, the export none
	Key    []byte  `json:",omitempty"` // of the handles; only in the line of the export, the first

	confirmed time.Time // last change when the file was known to have Gen; zero: never
}

// place is a name in a directory.
type place struct {
	Dir  uint64
	Name []byte // any bytes; JSON has them in base64
}

// openTable reads the table of a state directory, or makes one if the directory has no table for
// this export.
func openTable(state string, root, gen uint64, logger *slog.Logger) (_ *table, err error) {
	t := &table{root: root, entries: map[uint64]*entry{}, late: map[uint64]bool{}, logger: logger}
	t.listed.most = maxListed
	if t.lock, err = lockFile(filepath.Join(state, "lock")); err != nil {
		return nil, fmt.Errorf("localfs: state directory %s: %w: is another server using it?", state, err)
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
	if err = t.writeAll(log); err == nil {
		err = os.Rename(t.name+".new", t.name)
	}
	if err != nil { // the old file stays, and the new one takes no space
		return errors.Join(err, log.Close(), os.Remove(t.name+".new"))
	}
	if t.log != nil {
		err = t.log.Close()
	}
	t.log, t.lines, t.enough = log, len(t.entries), 0
	clear(t.late)
	return err
}

func (t *table) writeAll(log *os.File) error {
	w := bufio.NewWriter(log)
	lines := json.NewEncoder(w)
	first := *t.entries[t.root]
	first.Key = t.key
	if err := lines.Encode(&first); err != nil {
		return err
	}
	for ino, e := range t.entries {
		if ino == t.root {
			continue
		}
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), log.Sync())
}

func (t *table) close() error {
	var err error
	if len(t.late) > 0 {
		err = t.append()
	}
	if t.log != nil {
		err = errors.Join(err, t.log.Close())
	}
	return errors.Join(err, t.lock.Close())
}

// record writes what the table has of a file to the log. With twice as many lines as entries, the
// log is written again, so that a client that renames a file all the time fills no disk.
func (t *table) record(ino uint64) error {
	if t.lines > max(t.enough, 2*len(t.entries)+minLines) {
		if t.rewrite() == nil {
			return nil
		}
		t.enough = 2 * t.lines // the disk has no space for a second copy, but perhaps for lines
	}
	t.late[ino] = true
	err := t.append()
	if failing := err != nil; failing != t.failing {
		t.failing = failing
		if failing {
			t.logger.Error("localfs: the table of handles cannot be written: files get no new handles", "file", t.name, "err", err)
		} else {
			t.logger.Info("localfs: the table of handles can be written again", "file", t.name)
		}
	}
	return err
}

// append appends the lines that the log lacks. If it fails, the log is as before.
func (t *table) append() error {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for ino := range t.late {
		e := t.entries[ino]
		if e == nil {
			e = &entry{Ino: ino} // without places: removed
		}
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	end, err := t.log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := t.log.Write(text.Bytes()); err != nil { // a part of it, if the disk fills
		return errors.Join(err, t.log.Truncate(end))
	}
	t.lines += len(t.late)
	clear(t.late)
	return nil
}

// known returns a generation for a handle: the system's, or a random one if that is 0.
func known(gen uint64) uint64 {
	for gen == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		gen = binary.BigEndian.Uint64(b[:])
	}
	return gen
}

// add notes that a file has a name, and returns its generation. gen is the system's generation, or
// 0 if the system does not provide one. links is true if the file may have further names. After an
// error nothing is noted: a handle must be in the file.
func (t *table) add(ino, gen uint64, links bool, dir uint64, name string) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ino == t.root {
		return t.entries[ino].Gen, nil
	}
	old, at := t.entries[ino], place{dir, []byte(name)}
	e := &entry{Ino: ino}
	switch {
	case old != nil && (gen == 0 || old.Gen == gen):
		if old.has(at) && (links || len(old.Places) == 1) {
			return old.Gen, nil
		}
		e.Gen, e.Places = old.Gen, slices.Clone(old.Places)
		// The file has moved, or has one more name. Without generations it may be another file.
		if gen == 0 && !links {
			e.Gen = known(0)
		}
		if !links {
			e.Places = nil
		}
	default:
		e.Gen = known(gen)
	}
	e.remove(at)
	e.Places = slices.Insert(e.Places, 0, at)
	e.Places = e.Places[:min(len(e.Places), maxPlaces)]
	t.entries[ino] = e
	err := t.record(ino)
	switch {
	case err == nil:
		delete(t.listed.files, ino)
	case old == nil:
		delete(t.entries, ino)
		delete(t.late, ino)
	default:
		t.entries[ino] = old
	}
	return e.Gen, err
}

// move notes that a file has another name instead of one that it had. That has happened, so it
// cannot fail: if the disk is full, the log follows when there is space.
func (t *table) move(ino, fromDir uint64, from string, toDir uint64, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(ino)
	if e == nil || !e.has(place{fromDir, []byte(from)}) {
		return
	}
	t.entries[ino] = e
	delete(t.listed.files, ino)
	at := place{toDir, []byte(to)}
	e.remove(place{fromDir, []byte(from)})
	e.remove(at)
	e.Places = slices.Insert(e.Places, 0, at)
	_ = t.record(ino) // else it is late
}

// remove notes that a file has lost a name, as move does.
func (t *table) remove(ino, dir uint64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(ino)
	if e == nil || !e.has(place{dir, []byte(name)}) {
		return
	}
	if t.entries[ino] == nil {
		delete(t.listed.files, ino)
		return
	}
	e.remove(place{dir, []byte(name)})
	if len(e.Places) == 0 {
		delete(t.entries, ino)
	}
	_ = t.record(ino) // else it is late
}

// paths returns the paths that a file had when it was seen last, and the time that confirm noted.
// It returns no paths if no handle was issued for the file, or for the file of this generation.
func (t *table) paths(ino, gen uint64) ([]string, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.used(ino, gen)
	if e == nil {
		return nil, time.Time{}
	}
	if ino == t.root {
		return []string{"."}, e.confirmed
	}
	var paths []string
	for _, at := range e.Places {
		if path, ok := t.path(at); ok {
			paths = append(paths, path)
		}
	}
	return paths, e.confirmed
}

// confirm notes when a file with a generation was last changed.
func (t *table) confirm(ino, gen uint64, changed time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[ino]; e != nil && e.Gen == gen {
		e.confirmed = changed
	}
}

// path returns the path of a place.
func (t *table) path(at place) (string, bool) {
	parts := []string{string(at.Name)}
	for at.Dir != t.root {
		e := t.find(at.Dir)
		if e == nil || len(e.Places) == 0 || len(parts) == maxDepth {
			return "", false
		}
		at = e.Places[0]
		parts = append(parts, string(at.Name))
	}
	slices.Reverse(parts)
	return strings.Join(parts, "/"), true
}

// parent returns the parent of a directory. The export is its own parent, so that no client leaves
// it.
func (t *table) parent(ino uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.find(ino); e != nil && len(e.Places) > 0 {
		return e.Places[0].Dir
	}
	return t.root
}

// generation returns the generation of a file in the table.
func (t *table) generation(ino uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.find(ino); e != nil {
		return e.Gen
	}
	return 0
}

func (e *entry) has(at place) bool { return slices.ContainsFunc(e.Places, at.equal) }

func (e *entry) remove(at place) { e.Places = slices.DeleteFunc(e.Places, at.equal) }

func (p place) equal(q place) bool { return p.Dir == q.Dir && string(p.Name) == string(q.Name) }
