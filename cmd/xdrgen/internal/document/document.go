// Package document compiles units whose files may be documents: RFCs and drafts. It reads their
// XDR, each token at its line and column in the document.
package document

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// Choice chooses the XDR of a document. The zero value chooses all of it.
type Choice struct {
	File    string // one of the files that the document divides its XDR into
	Section string // sections, such as "4" or "4-6,9"
}

// documents is a file system that returns only the XDR of a document. Each token is at its line and
// column in the document, and all else is blank.
type documents struct {
	sema.FileSystem
	Choice
	given []string // files of the command line: only these can be documents
	read  map[string]*readDocument
}

// readDocument is a document that was read.
type readDocument struct {
	*xdrdoc.Document
	text []byte
}

// withDocuments returns the file system below f's documents. A nil fsys stands for the disk.
func (f Choice) withDocuments(fsys sema.FileSystem, files []string) *documents {
	if fsys == nil {
		fsys = sema.Disk{}
	}
	return &documents{FileSystem: fsys, Choice: f, given: files, read: map[string]*readDocument{}}
}

// ReadFile returns the contents of a file, or the XDR of a document.
func (d *documents) ReadFile(name string) ([]byte, error) {
	text, err := d.FileSystem.ReadFile(name)
	if err != nil || strings.HasSuffix(name, ".x") || !slices.Contains(d.given, name) {
		return text, err
	}
	if len(text) > source.MaxSize || !xdrdoc.IsDocument(text) {
		return text, nil // compiling it reports the fault
	}
	doc, err := xdrdoc.Extract(text, xdrdoc.Options{Sections: d.Section})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines, err := d.choose(doc)
	if err != nil {
		return nil, ChoiceError{fmt.Errorf("%s: %w", name, err)}
	}
	d.read[filepath.ToSlash(name)] = &readDocument{doc, text}
	return xdrdoc.Place(text, lines), nil
}

// Document returns the text of a document that was read, or nil.
func (d *documents) Document(name string) []byte {
	if r := d.read[filepath.ToSlash(name)]; r != nil {
		return r.text
	}
	return nil
}

// Regular returns an error unless name is a regular file of at most limit bytes.
func (d *documents) Regular(name string, limit int64) error {
	if r, ok := d.FileSystem.(interface{ Regular(string, int64) error }); ok {
		return r.Regular(name, limit)
	}
	return nil
}

// choose returns the lines of the file that -file names. Without the flag it returns all lines,
// unless the document says that its files are compiled one by one.
func (f Choice) choose(doc *xdrdoc.Document) ([]xdrdoc.Line, error) {
	var names []string
	for _, p := range doc.Parts {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	if f.File != "" {
		i := slices.IndexFunc(doc.Parts, func(p xdrdoc.Part) bool { return p.Name == f.File })
		switch {
		case i >= 0:
			return doc.Parts[i].Lines, nil
		case len(names) == 0:
			return nil, fmt.Errorf("found -file %s, but the document does not divide its XDR into files by lines \"@@FILE NAME.x\" or \"/* FILE ENDS: NAME.x; */\"", f.File)
		}
		return nil, fmt.Errorf("found -file %s, but the document has the files %s", f.File, strings.Join(names, ", "))
	}
	if len(doc.Parts) > 1 && doc.Parts[0].Alone {
		return nil, fmt.Errorf("the document divides its XDR into the files %s, which are compiled one by one: name one of them, such as -file %s", strings.Join(names, ", "), names[0])
	}
	var all []xdrdoc.Line
	for i, p := range doc.Parts {
		all = append(all, p.Own(i)...)
	}
	return all, nil
}

// findings returns the findings about documents that were compiled: marks that have no known
// meaning, and definitions that begin and never close.
func (d *documents) findings(files []*source.File) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, f := range files {
		doc := d.read[f.Name]
		if doc == nil {
			continue
		}
		for _, m := range doc.Marks {
			out = append(out, diag.New(diag.UnknownMark, f.LineSpan(m.Num), "%s looks like a mark between files, and has no known meaning: %s", diag.Quote(m.Text), m.Fate()))
		}
		for _, u := range doc.Lost {
			out = append(out, diag.New(diag.UnclosedDefinition, f.LineSpan(u.Num), "%s begins a definition that never closes", diag.Quote(strings.TrimSpace(u.Text))))
		}
	}
	return out
}

// Compile compiles a unit whose files may be documents. If the choice does not fit the documents,
// the error is a ChoiceError.
func (f Choice) Compile(o sema.Options) (*sema.Result, error) {
	d := f.withDocuments(o.FS, o.Files)
	o.FS = d
	r, err := sema.Compile(o)
	if err != nil {
		return nil, err
	}
	if len(d.read) == 0 && f != (Choice{}) {
		return nil, ChoiceError{errors.New("found -file or -section, which choose the XDR of a document, but no document among the files")}
	}
	if more := d.findings(r.Files); len(more) > 0 {
		r.Diags = append(r.Diags, more...)
		diag.Sort(r.Diags, r.Files)
		if diag.HasErrors(more) {
			r.Unit, r.Bind = nil, nil
		}
	}
	return r, nil
}

// ChoiceError is an error about the flags -file and -section, which are a Choice.
type ChoiceError struct{ error }
