package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"
	"time"
)

// The endings of the files that hold an incomplete copy and its note. Trees are copied without
// them.
const (
	partEnding = ".nfs3part"
	noteEnding = partEnding + ".json"
)

// maxNote is the size limit of a note in bytes.
const maxNote = 4096

// note is the file next to a part: it identifies the source, and says how much is stored.
type note struct {
	V      int       `json:"v"`
	Type   string    `json:"type"` // nfs3part
	Size   int64     `json:"size_bytes"`
	Time   time.Time `json:"mtime"`
	FileID uint64    `json:"fileid"` // 0 for local files
	Stored int64     `json:"stored_bytes"`
}

// noteOf returns the note for a source that is not stored yet.
func noteOf(source fs.FileInfo) note {
	return note{V: 1, Type: "nfs3part", Size: source.Size(), Time: source.ModTime().UTC(), FileID: attributesOf(source).fileID}
}

// same reports whether two notes describe the same file in the same state.
func (n note) same(other note) bool {
	return n.Size == other.Size && n.Time.Equal(other.Time) && n.FileID == other.FileID
}

// partOf returns the names of a file's part and note. A name that would become too long is cut, and
// a hash makes it unique.
func partOf(name string) (part, notes string) {
	dir, base := split(name)
	if len(base) > 230 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(base)) // never fails
		base = fmt.Sprintf("%s-%x", strings.ToValidUTF8(base[:200], ""), h.Sum64())
	}
	return dir + base + partEnding, dir + base + noteEnding
}

// readNote returns a part's note. Its error is fs.ErrNotExist if the note does not exist.
func readNote(at side, name string) (n note, err error) {
	text, err := at.readFile(name)
	if err != nil {
		return n, err
	}
	if len(text) > maxNote || json.Unmarshal(text, &n) != nil || n.V != 1 || n.Type != "nfs3part" {
		return n, errors.New("the file is no note of a copy")
	}
	return n, nil
}

func writeNote(at side, name string, n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return at.writeFile(name, append(text, '\n'))
}

// begin returns the note with which a copy begins: the part's note if it has the same source and
// the copy is to resume, else one with nothing stored. exists reports whether there is a note.
func begin(at side, part, notes string, source note, resume bool) (n note, exists bool, err error) {
	var there [2]int64 // sizes; -1 means that the file does not exist
	for i, name := range []string{part, notes} {
		info, err := at.stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			there[i] = -1
		case err != nil:
			return source, false, err
		case !info.Mode().IsRegular(): // a link could lead to another file
			return source, false, fmt.Errorf("%s: found a %s, expected a file of this command: remove it", shown(name), kind(info.Mode()))
		default:
			there[i] = info.Size()
		}
	}
	if there[1] < 0 {
		return source, false, nil
	}
	found, err := readNote(at, notes)
	if err == nil && resume && found.same(source) && found.Stored >= 0 && found.Stored <= min(there[0], source.Size) {
		return found, true, nil
	}
	return source, true, nil
}
