package page

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/document"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// memory is a file system with the files of a unit in the working directory, and no others.
type memory map[string]string

// ReadFile returns a file of the unit, at most one byte more than source.MaxSize.
func (m memory) ReadFile(name string) ([]byte, error) {
	text, ok := m[m.own(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text[:min(len(text), source.MaxSize+1)]), nil
}

// ReadDir returns the files of the unit.
func (m memory) ReadDir(name string) ([]os.DirEntry, error) {
	if m.own(name) != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	var out []os.DirEntry
	for name := range m {
		out = append(out, fs.FileInfoToDirEntry(entry(name)))
	}
	slices.SortFunc(out, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Regular returns an error unless name is a file of the unit.
func (m memory) Regular(name string, _ int64) error {
	_, err := m.ReadFile(name)
	return err
}

// own returns a path as seen from the working directory.
func (m memory) own(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(here, abs)
	if err != nil {
		return name
	}
	return rel
}

// entry is a file of the unit, by its name. The compiler reads only its name and kind.
type entry string

func (e entry) Name() string     { return string(e) }
func (entry) Size() int64        { return 0 }
func (entry) Mode() fs.FileMode  { return 0o444 }
func (entry) ModTime() time.Time { return time.Time{} }
func (entry) IsDir() bool        { return false }
func (entry) Sys() any           { return nil }

// name returns the name of the unit's file. What a user gives is used only if it is a plain one.
func (u *Unit) name() string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9'
	}
	odd := func(r rune) bool { return !plain(r) }
	switch {
	case u.Name != "" && len(u.Name) <= 100 && !strings.ContainsFunc(u.Name, odd) && u.Name[0] != '.' && u.Name[0] != '-' && !strings.HasSuffix(u.Name, ".bind"):
		return u.Name
	case u.document():
		return "document.txt"
	}
	return "input.x"
}

// document reports whether the unit's text is a document.
func (u *Unit) document() bool {
	return !strings.HasSuffix(u.Name, ".x") && len(u.Text) <= source.MaxSize && xdrdoc.IsDocument([]byte(u.Text))
}

// files returns the options to compile a unit, and the choice of its XDR.
func (u *Unit) files() (sema.Options, document.Choice) {
	name := u.name()
	m := memory{name: u.Text}
	if u.Sidecar != "" {
		m[strings.TrimSuffix(name, filepath.Ext(name))+".bind"] = u.Sidecar
	}
	return sema.Options{Files: []string{name}, FS: m}, document.Choice{File: u.File, Section: u.Section}
}

// compile returns the result of compiling a unit, which does not change until the next call with
// another one.
func (s *Session) compile(u Unit) (*sema.Result, error) {
	if s.unit != u || s.result == nil && s.err == nil {
		o, choice := u.files()
		s.unit = u
		s.result, s.err = choice.Compile(o)
	}
	return s.result, s.err
}
