// Package explain holds the long explanation of each finding of the compiler:
// what it means, why it is one, an example that has it and one that has not.
// "xdrgen explain" and docs/errors.md are made of it; a test compiles every
// example.
//
// The texts lie in text/, one file for a hundred codes:
//
//	== XDR0101
//	Words, in paragraphs.
//	-- bad u.x
//	text of a file that has the finding
//	-- good u.x
//	text of a file that has none
//
// An example can have several files; the unit is u.x. The sign ␀ stands for a
// zero byte. The texts of lint's rules are alike; those of compat have no words,
// and what was ("old") and is ("new") for wrong and right.
package explain

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

//go:embed text/*.txt
var texts embed.FS

// Entry is the explanation of one rule.
type Entry struct {
	diag.Info
	Words string // paragraphs, ending in a newline
	Bad   []File // empty where no short text can have the finding
	Good  []File
}

// File is a file of an example.
type File struct {
	Name string
	Text string
}

// Unit is the name of the example file that is compiled.
const Unit = "u.x"

// Bytes returns the text as it is compiled.
func (f File) Bytes() []byte { return []byte(strings.ReplaceAll(f.Text, "␀", "\x00")) }

// Entries returns all explanations in the order of diag.Rules. A rule that has
// no text yet has an entry without words.
func Entries() ([]Entry, error) {
	all, err := load()
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, info := range diag.Rules() {
		e := Entry{}
		if have := all[info.Code]; have != nil {
			e = *have
		}
		e.Info = info
		out = append(out, e)
	}
	return out, nil
}

// Others returns the texts for codes that are none of diag.Rules, by code. The
// Info in them is empty: their tables stand elsewhere.
func Others() (map[string]*Entry, error) {
	all, err := load()
	for _, info := range diag.Rules() {
		delete(all, info.Code)
	}
	return all, err
}

// load reads the texts, by code.
func load() (map[string]*Entry, error) {
	all := map[string]*Entry{}
	names, err := fs.Glob(texts, "text/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := parse(name, string(text), all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parse(name, text string, all map[string]*Entry) error {
	var e *Entry
	var file *File
	number := 0
	for line := range strings.Lines(text) {
		number++
		if code, ok := strings.CutPrefix(line, "== "); ok {
			code = strings.TrimSpace(code)
			if all[code] != nil || len(code) != 7 {
				return fmt.Errorf("%s:%d: code %s again, or of the wrong form", name, number, code)
			}
			e, file = &Entry{}, nil
			all[code] = e
			continue
		}
		if e == nil {
			return fmt.Errorf("%s:%d: text before the first code", name, number)
		}
		if head, ok := strings.CutPrefix(line, "-- "); ok {
			kind, base, _ := strings.Cut(strings.TrimSpace(head), " ")
			list := &e.Bad
			if kind == "good" || kind == "new" {
				list = &e.Good
			}
			*list = append(*list, File{Name: base})
			file = &(*list)[len(*list)-1]
			continue
		}
		if file == nil {
			e.Words += line
		} else {
			file.Text += line
		}
	}
	return nil
}

// Find returns the explanation of a code or name, in any case of letters.
func Find(entries []Entry, word string) (Entry, bool) {
	for _, e := range entries {
		if strings.EqualFold(e.Code, word) || strings.EqualFold(e.Name, word) {
			return e, true
		}
	}
	return Entry{}, false
}
