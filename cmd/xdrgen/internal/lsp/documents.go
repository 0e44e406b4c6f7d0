package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// document is an open document.
type document struct {
	uri     documentURI
	path    string
	version int
	text    *text // nil for a text that is too large, until the client sends a whole one
	unit    *unit // that it belongs to
}

// texts has the open documents by their paths.
type texts map[string]*document

// find returns an open document.
func (t texts) find(u documentURI) (*document, error) {
	if d := t[u.path()]; d != nil {
		return d, nil
	}
	return nil, fail(codeInvalidParams, "%s is not open", u)
}

// open handles textDocument/didOpen.
func (s *server) open(p didOpen) error {
	d := &document{uri: p.TextDocument.URI, path: p.TextDocument.URI.path(), version: p.TextDocument.Version}
	err := d.set(newText([]byte(p.TextDocument.Text)))
	if old := s.texts[d.path]; old != nil {
		s.leave(old)
	}
	s.texts[d.path] = d
	s.regroup()
	s.changed(d.path)
	return err
}

// edit handles textDocument/didChange.
func (s *server) edit(p didChange) error {
	d, err := s.texts.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	d.version = p.TextDocument.Version
	for _, c := range p.ContentChanges {
		if d.text == nil && c.Range != nil {
			continue
		}
		old := d.text
		if old == nil {
			old = newText(nil)
		}
		err = errors.Join(err, d.set(old.apply(c, s.client.encoding)))
	}
	s.changed(d.path)
	return err
}

// set sets the text, unless it is too large.
func (d *document) set(t *text) error {
	d.text = t
	if len(t.bytes) > source.MaxSize {
		d.text = nil
		return fmt.Errorf("%s is not checked: it is longer than %d bytes", d.uri, source.MaxSize)
	}
	return nil
}

// closed handles textDocument/didClose.
func (s *server) closed(p place) error {
	d, err := s.texts.find(p.TextDocument.URI)
	if err != nil {
		return err
	}
	delete(s.texts, d.path)
	s.leave(d)
	s.changed(d.path) // other units use the file's text on disk from now on
	s.regroup()
	return nil
}

// snapshot is a file system: the disk, with the texts of the open documents. It does not change. It
// fails when its context is done.
type snapshot struct {
	ctx   context.Context
	disk  sema.Disk
	texts map[string][]byte // by absolute path
}

// snapshot returns the files as they are now.
func (s *state) snapshot(ctx context.Context) snapshot {
	out := snapshot{ctx: ctx, texts: make(map[string][]byte, len(s.texts))}
	for path, d := range s.texts {
		if d.text != nil {
			out.texts[path] = d.text.bytes
		}
	}
	return out
}

// ReadFile returns the contents of a file.
func (f snapshot) ReadFile(name string) ([]byte, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	if b, ok := f.texts[name]; ok {
		return b, nil
	}
	if !hasFile(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err := f.disk.Regular(name, source.MaxSize); err != nil { // reading a pipe would not return
		return nil, err
	}
	return f.disk.ReadFile(name)
}

// ReadDir returns the entries of a folder. A document that was not saved is not in it.
func (f snapshot) ReadDir(name string) ([]os.DirEntry, error) {
	if name == unsaved {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.disk.ReadDir(name)
}

// Regular returns an error unless name is a regular file of at most limit bytes.
func (f snapshot) Regular(name string, limit int64) error {
	if b, ok := f.texts[name]; ok && int64(len(b)) <= limit {
		return nil
	}
	if !hasFile(name) {
		return &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return f.disk.Regular(name, limit)
}

// exists reports whether there is a file. An open document that was not saved counts.
func (f snapshot) exists(name string) bool { return f.Regular(name, source.MaxSize) == nil }

// filesIn returns the paths of a folder's files with an extension, sorted.
func (f snapshot) filesIn(dir, ext string) []string {
	var out []string
	entries, err := f.ReadDir(dir)
	if err != nil {
		entries = nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ext && !e.IsDir() && e.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) == 0 {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	for path := range f.texts {
		if filepath.Dir(path) == dir && filepath.Ext(path) == ext && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
