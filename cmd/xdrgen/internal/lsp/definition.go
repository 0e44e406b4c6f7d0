package lsp

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// definition answers textDocument/definition: the place where a name is declared. From there it
// leads to the line of the document that the declaration was extracted from. From a line that
// includes a file it leads to the file.
func (s *state) definition(q query) (any, error) {
	if l, ok := s.included(q); ok {
		return []location{l}, nil
	}
	n, ok := q.analysis.at(q.view.file, q.offset)
	if !ok {
		return nil, nil
	}
	if n.at == n.thing.at {
		if l, ok := s.origin(n.at); ok {
			return []location{l}, nil
		}
	}
	if l, ok := s.location(q.analysis, n.thing.at); ok {
		return []location{l}, nil
	}
	return nil, nil
}

// included returns the start of the file that the line at a place includes.
func (s *state) included(q query) (location, bool) {
	line := q.view.file.LineSpan(q.view.file.Position(q.offset).Line)
	m := include.FindStringSubmatch(line.Text())
	if m == nil {
		return location{}, false
	}
	name := "/" + m[1] + m[2]
	for _, f := range q.analysis.result.Files {
		if strings.HasSuffix(f.Name, name) && f != q.view.file {
			return location{URI: s.uri(q.analysis.view(f).path())}, true
		}
	}
	return location{}, false
}

// maxUp limits how far above a file its document is looked for.
const maxUp = 8

// origin returns the place in a document that a name was extracted from. The document is in a
// folder above the file.
func (s *state) origin(at source.Span) (location, bool) {
	o, ok := at.Origin()
	if !ok {
		return location{}, false
	}
	name := filepath.FromSlash(o.Document)
	if o.Erratum != "" {
		name = filepath.Join("errata", name)
	}
	files := s.snapshot(context.Background())
	dir := filepath.Dir(filepath.FromSlash(at.File.Name))
	for range maxUp {
		path := filepath.Join(dir, name)
		if files.exists(path) {
			b, err := files.ReadFile(path)
			if err != nil {
				return location{}, false
			}
			return location{s.uri(path), inLine(source.NewFile(path, b), o.Line, at.Text(), s.client.encoding)}, true
		}
		dir = filepath.Dir(dir)
	}
	return location{}, false
}

// inLine returns the place of a word in a line of a file, or the start of the line.
func inLine(f *source.File, line int, word string, e encoding) span {
	at := f.LineSpan(line)
	start, end := at.Start, at.Start
	if i := strings.Index(at.Text(), word); i >= 0 {
		start += i
		end = start + len(word)
	}
	return newText(f.Text).span(start, end, e)
}
