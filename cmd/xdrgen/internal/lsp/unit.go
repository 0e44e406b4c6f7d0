package lsp

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unit is a unit with an open document.
type unit struct {
	key      string
	files    []string // as for xdrgen check, absolute
	edition  int      // counts changes of its texts
	checked  int      // edition that analysis is of
	analysis *analysis
}

// fresh reports whether the analysis is of the latest texts.
func (u *unit) fresh() bool { return u.analysis != nil && u.checked == u.edition }

// regroup finds the unit of each open document. Units without one end.
func (s *server) regroup() {
	groups := grouping{files: s.snapshot(context.Background()), document: s.cfg.IsDocument}
	used := map[string]bool{}
	for _, d := range s.texts {
		d.unit = nil
		roots := groups.unitOf(d.path)
		if roots == nil {
			continue
		}
		key := strings.Join(roots, "\x00")
		if s.units[key] == nil {
			s.units[key] = &unit{key: key, files: roots}
		}
		d.unit, used[key] = s.units[key], true
	}
	for key, u := range s.units {
		if !used[key] {
			delete(s.units, key)
			s.stale(u)
			s.show(u, nil)
		}
	}
}

// leave removes what the client sees about a document that it has closed.
func (s *server) leave(d *document) {
	s.out.notify("textDocument/publishDiagnostics", publishDiagnostics{URI: d.uri, Diagnostics: []diagnostic{}})
	s.shown.forget(d.path)
}

// stale marks a unit as changed. Its check, if it runs, is of no use.
func (s *server) stale(u *unit) {
	u.edition++
	if s.check.unit == u {
		s.check.cancel()
	}
}

// changed marks the units that have read a file as changed.
func (s *server) changed(path string) {
	for _, u := range s.units {
		d := s.texts[path]
		if d != nil && d.unit == u || u.analysis.reads(path) {
			s.stale(u)
		}
	}
	s.check.changed = append(s.check.changed, path)
}

// disk takes changes of files that are not open into account.
func (s *server) disk() {
	s.regroup()
	for _, u := range s.units {
		s.stale(u)
	}
}

// maxBeside limits how many files of a folder are read to find out which includes which.
const maxBeside = 200

// grouping finds the unit that a file belongs to.
type grouping struct {
	files     snapshot
	document  func(text []byte) bool       // Config.IsDocument
	including map[string]map[string]string // results of includers by folder
}

// unitOf returns the files of the unit that a file belongs to, as a user would name them for xdrgen
// check: all .x files of a folder with a sidecar that has the folder's name; else the file of the
// folder that includes the others, directly or not; else the file alone. A sidecar belongs to its
// unit. It returns nil if there is no such unit.
func (g *grouping) unitOf(path string) []string {
	dir := filepath.Dir(path)
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	switch filepath.Ext(path) {
	case ".origin":
		return nil
	case ".bind":
		if filepath.Base(stem) == filepath.Base(dir) {
			if all := g.files.filesIn(dir, ".x"); len(all) > 0 {
				return all
			}
		}
		for _, ext := range []string{".x", ".txt", ".xml", ".html", ".md"} {
			if g.files.exists(stem + ext) {
				return g.unitOf(stem + ext)
			}
		}
		return nil
	case ".x":
		if g.files.exists(filepath.Join(dir, filepath.Base(dir)+".bind")) {
			return g.files.filesIn(dir, ".x")
		}
		return []string{g.root(path)}
	}
	if b, err := g.files.ReadFile(path); err != nil || !g.document(b) {
		return nil
	}
	return []string{path}
}

// root returns the file of the same folder that includes a file, directly or not, and that no file
// includes. If several do, it is the first by name.
func (g *grouping) root(path string) string {
	dir := filepath.Dir(path)
	by, ok := g.including[dir]
	if !ok {
		by = g.files.includers(dir)
		if g.including == nil {
			g.including = map[string]map[string]string{}
		}
		g.including[dir] = by
	}
	for range by { // not forever, if files include each other
		next, ok := by[path]
		if !ok {
			break
		}
		path = next
	}
	return path
}

// includers returns, for the .x files of a folder, the first other one that includes it.
func (f snapshot) includers(dir string) map[string]string {
	all := f.filesIn(dir, ".x")
	if len(all) > maxBeside {
		return nil
	}
	by := map[string]string{}
	for _, file := range all {
		for _, name := range f.includes(file) {
			included := filepath.Join(dir, filepath.FromSlash(name))
			if _, ok := by[included]; !ok && included != file {
				by[included] = file
			}
		}
	}
	return by
}

// include matches a line that includes a file, or imports one in a sidecar.
var include = regexp.MustCompile(`(?m)^[ \t]*(?:%?#[ \t]*include[ \t]*"([^"\r\n]+)"|import[ \t]+(\S+))`)

// includes returns the names that a file includes.
func (f snapshot) includes(path string) []string {
	if !f.exists(path) {
		return nil
	}
	text, err := f.ReadFile(path)
	if err != nil {
		return nil // checking it reports the error
	}
	var out []string
	for _, m := range include.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1])+string(m[2]))
	}
	return out
}

// maxAbove limits how far above a file the folder of an included unit can be.
const maxAbove = 4

// above returns the folders above a unit's files in which included files of other units are: a
// file that includes "common/types.x" is in a folder next to common, or further below.
func (f snapshot) above(files []string) []string {
	var out []string
	dir := filepath.Dir(files[0])
	names := f.includes(filepath.Join(dir, filepath.Base(dir)+".bind"))
	for _, file := range files {
		names = append(names, f.includes(file)...)
		names = append(names, f.includes(strings.TrimSuffix(file, filepath.Ext(file))+".bind")...)
	}
	for _, name := range names {
		if !strings.Contains(name, "/") {
			continue
		}
		for at, n := filepath.Dir(dir), 0; n < maxAbove; at, n = filepath.Dir(at), n+1 {
			if f.exists(filepath.Join(at, filepath.FromSlash(name))) {
				if !slices.Contains(out, at) {
					out = append(out, at)
				}
				break
			}
		}
	}
	return out
}
