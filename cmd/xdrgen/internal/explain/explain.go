// Package explain has the explanation of each finding of the compiler: what it
// means, why it is a fault, an example with the finding and one without. They are
// the texts of "xdrgen explain" and docs/errors.md. A test compiles every example.
//
// The texts are in the folder text, one file for each hundred codes:
//
//	== XDR0101
//	The explanation, in paragraphs.
//	-- bad u.x
//	text of a file with the finding
//	-- good u.x
//	text of a file without findings
//
// An example can have several files; the unit is u.x. The character ␀ stands for a
// zero byte. The texts of lint rules have the same form. Those of compat rules have
// no explanation, and the old and new version of a file ("old", "new") instead of
// "bad" and "good".
package explain

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

//go:embed text/*.txt
var texts embed.FS

// Entry is the explanation of one rule.
type Entry struct {
	diag.Info
	Words string // paragraphs, ending with a newline
	Bad   []File // empty if no short file can have the finding
	Good  []File
}

// File is a file of an example.
type File struct {
	Name string
	Text string
}

// Unit is the name of the example file that is compiled.
const Unit = "u.x"

// Bytes returns the contents of the file, as they are compiled.
func (f File) Bytes() []byte { return []byte(strings.ReplaceAll(f.Text, "␀", "\x00")) }

// Entries returns all explanations in the order of diag.Rules. The entry of a rule without a
// text has no words.
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

// Others returns the explanations of lint and compat rules, by code. Their Info is empty; it
// is in the tables of those packages.
func Others() (map[string]*Entry, error) {
	all, err := load()
	for _, info := range diag.Rules() {
		delete(all, info.Code)
	}
	return all, err
}

// load returns all explanations, by code.
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

// parse adds the explanations in a file to all.
func parse(name, text string, all map[string]*Entry) error {
	var e *Entry
	var file *File
	number := 0
	for line := range strings.Lines(text) {
		number++
		if code, ok := strings.CutPrefix(line, "== "); ok {
			code = strings.TrimSpace(code)
			if all[code] != nil || len(code) != 7 {
				return fmt.Errorf("%s:%d: code %s is a duplicate, or not of the form XDR0101", name, number, code)
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
