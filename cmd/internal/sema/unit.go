package sema

import (
	"path"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/bind"
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// unit has the files of the command line with the files that they include from their own folder,
// or all files of another folder. They share one scope.
//
// Loading fills the first part. The passes of compiler.compile fill the second part, in the order
// of the fields. A unit that imports this one reads both.
type unit struct {
	name    string
	dir     string     // absolute
	imp     *ir.Import // how the first unit that imports it names it; nil for the root
	files   []*syntax.File
	have    map[string]bool // absolute paths of its files
	macros  map[string]string
	imports []*unit // all units that it builds on, directly or not, in order of first include
	side    sidecar
	amended amended
	unread  bool // its files could not be read; that was reported
	partial bool // an include was not found or not read, so names may be missing

	numbers    map[string][]rpcNumber // programs, versions and procedures by name
	undeclared undeclared
	scope      scope
	decls      []*ir.Decl
	warned     map[string]bool // C types, RPC keywords and numbers that were reported
	broken     bool            // has errors
}

// scope has the names that a unit declares.
type scope struct {
	names   map[string]*symbol
	syms    []*symbol               // in source order; also those whose name a later one has taken
	inner   map[*syntax.Def]*symbol // types that are declared inside another declaration
	strings map[string]source.Span  // constants that are strings: these have no symbol
}

// put enters a symbol. The caller has checked that its name is free or can be taken.
func (s *scope) put(sym *symbol) {
	s.names[sym.name] = sym
	s.syms = append(s.syms, sym)
}

// sidecar is the content of a unit's .bind file.
type sidecar struct {
	bind     *ir.Bind        // empty without a file
	open     []bind.Word     // "open": enums that take any number
	opened   map[string]bool // the names in open
	payloads []bind.Word     // "payload": header types that carry a payload
	given    []bind.Given

	from      map[string]bind.Word // "from": the unit that has a name, by the name
	fromNames []bind.Word          // the names in from, in order
}

// take sets the content of a file.
func (s *sidecar) take(f *bind.File) {
	*s = sidecar{bind: f.Bind, open: f.Open, opened: map[string]bool{}, payloads: f.Payloads, given: f.Given, from: map[string]bind.Word{}}
	for _, w := range s.open {
		s.opened[w.Text] = true
	}
	for _, l := range f.From {
		for _, w := range l.Names {
			s.from[w.Text] = l.Unit
			s.fromNames = append(s.fromNames, w)
		}
	}
}

// undeclared has the names that a unit uses and does not declare.
type undeclared struct {
	uses     map[string]int         // number of uses
	reported map[string]bool        // names that a finding was about
	forC     map[string]source.Span // types that lines for C declare; nil until it is needed
}

// use counts a use of a name, and returns the number so far.
func (m *undeclared) use(name string) int {
	m.uses[name]++
	return m.uses[name]
}

// usedTimes adds a note that counts the further uses of a name.
func (m *undeclared) usedTimes(d diag.Diagnostic, name string) diag.Diagnostic {
	switch n := m.uses[name] - 1; {
	case n == 1:
		return d.Note("it is used once more")
	case n > 1:
		return d.Note("it is used %d times more", n)
	}
	return d
}

// declaredForC returns the place of a line for C (%) in some files that declares a type.
func (m *undeclared) declaredForC(files []*syntax.File, name string) (source.Span, bool) {
	if m.forC == nil {
		m.forC = map[string]source.Span{}
		for _, f := range files {
			for _, at := range f.Percent {
				declared := typeOfC(at.Text())
				if _, ok := m.forC[declared]; !ok && declared != "" {
					m.forC[declared] = at
				}
			}
		}
	}
	at, ok := m.forC[name]
	return at, ok
}

// typeOfC returns the name of the type that a line of C declares, or "".
func typeOfC(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return r != '_' && !isLetterOrDigit(r) })
	if len(words) < 2 {
		return ""
	}
	switch words[0] {
	case "typedef":
		return words[len(words)-1]
	case "struct", "enum", "union":
		if !strings.Contains(line, ";") {
			return words[1]
		}
	}
	return ""
}

func isLetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// reportMissing reports whether an undeclared name is to be reported: once for each name, and not
// where a file that may declare it was not found.
func (u *unit) reportMissing(name string) bool {
	if u.undeclared.reported[name] || u.partial {
		return false
	}
	u.undeclared.reported[name] = true
	return true
}

// visible returns all symbols of the unit and its imports.
func (u *unit) visible() []*symbol {
	out := append([]*symbol(nil), u.scope.syms...)
	for _, i := range u.imports {
		out = append(out, i.scope.syms...)
	}
	return out
}

// sidecar returns the name of the unit's sidecar, which may not exist.
func (u *unit) sidecar(f *source.File) string {
	switch {
	case u.side.bind != nil && u.side.bind.File != "":
		return path.Base(u.side.bind.File)
	case len(u.have) > 1 || u.imp != nil:
		return u.name + ".bind"
	}
	return sidecarOf(f.Base())
}
