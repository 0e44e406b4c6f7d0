package sema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// library has the files that a Compile has read, each once: a file can have thousands of includes.
type library struct {
	*findings // for faults of .origin files
	fs        FileSystem
	parser    *syntax.Parser
	files     []*source.File             // in the order in which they were read
	byPath    map[string]*source.File    // by absolute path
	folders   map[string]folder          // by the path that they were read with
	declared  map[string]map[string]bool // names declared in files that are not imported, by file
}

func newLibrary(fs FileSystem, f *findings) *library {
	return &library{
		findings: f, fs: fs, parser: syntax.NewParser(),
		byPath: map[string]*source.File{}, folders: map[string]folder{}, declared: map[string]map[string]bool{},
	}
}

// named returns the file that was read under a name, or nil.
func (l *library) named(name string) *source.File {
	for _, f := range l.files {
		if f.Name == name && name != "" {
			return f
		}
	}
	return nil
}

// folder is the result of ReadDir for a folder.
type folder struct {
	entries []os.DirEntry
	err     error
}

// readDir returns the entries of a folder, sorted by name. It reads each folder once: a
// file can have thousands of includes.
func (l *library) readDir(name string) ([]os.DirEntry, error) {
	f, ok := l.folders[name]
	if !ok {
		f.entries, f.err = l.fs.ReadDir(name)
		l.folders[name] = f
	}
	return f.entries, f.err
}

// isFile reports whether there is a file with an absolute path.
func (l *library) isFile(abs string) bool {
	if l.byPath[abs] != nil {
		return true
	}
	entries, err := l.readDir(filepath.Dir(abs))
	if err != nil {
		return false
	}
	i, ok := slices.BinarySearchFunc(entries, filepath.Base(abs), func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	return ok && !entries[i].IsDir()
}

// readRegular reads a file that the user did not name: one next to another file, or one that an
// include names.
func (l *library) readRegular(name string, limit int64) ([]byte, error) {
	if d, ok := l.fs.(interface{ Regular(string, int64) error }); ok {
		if err := d.Regular(name, limit); err != nil {
			return nil, err
		}
	}
	return l.fs.ReadFile(name)
}

// found reads a file that the user did not name on the command line.
func (l *library) found(name string) ([]byte, error) { return l.readRegular(name, source.MaxSize) }

// read reads a file with the function text, and its origin map if there is one.
func (l *library) read(name, abs string, text func(string) ([]byte, error)) (*source.File, error) {
	if f := l.byPath[abs]; f != nil {
		return f, nil
	}
	content, err := text(name)
	if err != nil {
		return nil, err
	}
	f := source.NewFile(filepath.ToSlash(name), content)
	if d, ok := l.fs.(interface{ Document(string) []byte }); ok {
		f.Document = d.Document(name)
	}
	l.byPath[abs] = f
	l.files = append(l.files, f)
	if origin, err := l.found(name + ".origin"); err == nil {
		f.Origin, err = source.ParseOrigin(origin)
		if err != nil {
			l.report(diag.New(diag.OriginMap, source.Span{File: f}, "%s.origin: %v", f.Base(), err))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return f, nil
}

// maxOther is the size of the largest file that is read only for a suggestion.
const maxOther = 1 << 20

// declares reports whether a file declares a name. It ignores faults of the file.
func (l *library) declares(file, name string) bool {
	names := l.declared[file]
	if names == nil {
		names = map[string]bool{}
		l.declared[file] = names
		text, err := l.readRegular(file, maxOther)
		if err != nil || len(text) > maxOther {
			return false
		}
		parsed := l.parser.Parse(source.NewFile(file, text), &syntax.Context{
			Macros: map[string]string{}, Report: func(diag.Diagnostic) {}, Include: func(string, source.Span) {},
		})
		for _, d := range parsed.Defs {
			names[d.Name.Name] = true
			for _, m := range d.Members {
				names[m.Name.Name] = true
			}
		}
	}
	return names[name]
}

// whole reports whether all .x files of a unit's folder belong to the unit.
func (l *library) whole(u *unit) bool {
	entries, err := l.readDir(u.dir)
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".x") && !e.IsDir() && !u.have[filepath.Join(u.dir, e.Name())]
	})
}
