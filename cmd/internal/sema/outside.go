package sema

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// supplier adds the declarations that the files of a unit use but do not have. They come from the
// flags and the sidecar, else from a %#define line for C (a constant, or the XDR routine of a
// type), else from the .x file that an included C header was generated from, else from the prelude.
// Each is reported as a warning, unless it comes from a flag or the sidecar.
type supplier struct {
	*findings
	lib     *library
	u       *unit
	types   []Given           // Options.Types
	defines map[string]string // Options.Defines
	include []string          // Options.Include

	// These parse a file of u and load what it includes. The files of a header can include the
	// unit again, which parseHeader finds.
	parse, parseHeader func(*source.File) *syntax.File

	fromC    map[*syntax.Def]bool // %#define lines that fromDefine has added
	routines map[string]bool      // types that fromRoutine has added
	tried    map[string]bool      // names of C headers, without .h, that fromHeader has looked for
}

// newSupplier returns the supplier of a unit that is loaded.
func (c *compiler) newSupplier(u *unit) *supplier {
	return &supplier{
		findings: c.findings, lib: c.lib, u: u, types: c.o.Types, defines: c.o.Defines, include: c.o.Include,
		parse: func(f *source.File) *syntax.File { return c.parse(u, f) },
		parseHeader: func(f *source.File) *syntax.File {
			c.loading = append(c.loading, u)
			defer func() { c.loading = c.loading[:len(c.loading)-1] }()
			return c.parse(u, f)
		},
		fromC: map[*syntax.Def]bool{}, routines: map[string]bool{}, tried: map[string]bool{},
	}
}

// supply adds all declarations that the unit lacks, and interprets its #define lines.
func (s *supplier) supply() {
	s.giveTypes()
	for {
		names := s.missingNames()
		if len(names) == 0 || !s.fromDefine(names) && !s.fromRoutine(names) && !s.fromHeader(names) && !s.fromPrelude(names) {
			break
		}
	}
	s.fixMacros()
}

// synthetic returns a text of the compiler as a file.
func synthetic(name, text string) *source.File {
	f := source.NewFile(name, []byte(text))
	f.Synthetic = true
	return f
}

// giveTypes adds the declarations that the flags and the sidecar give.
func (s *supplier) giveTypes() {
	if s.u.imp == nil {
		for _, g := range s.types {
			s.give(synthetic("<-type "+g.Name+">", declaration(g.Name, g.XDR)+"\n"))
		}
	}
	for _, g := range s.u.side.given {
		text := "const " + g.Name.Text + " = " + g.Text + ";"
		if g.Type {
			text = declaration(g.Name.Text, g.Text)
		}
		at := g.Name.Pos.Position()
		s.give(synthetic(fmt.Sprintf("<%s line %d>", g.Name.Pos.File.Base(), at.Line), text+"\n"))
	}
}

func (s *supplier) give(f *source.File) {
	s.u.files = append(s.u.files, s.parse(f))
}

// declaration returns the XDR declaration for NAME=XDR: "opaque<8>" becomes
// "typedef opaque NAME<8>;".
func declaration(name, xdr string) string {
	xdr = strings.TrimSuffix(strings.TrimSpace(xdr), ";")
	for _, word := range []string{"struct", "union", "enum"} {
		if rest, ok := strings.CutPrefix(xdr, word); ok && strings.Contains(rest, "{") {
			return word + " " + name + " " + strings.TrimSpace(rest) + ";"
		}
	}
	base, bound := xdr, ""
	if i := strings.IndexAny(xdr, "<["); i >= 0 {
		base, bound = xdr[:i], xdr[i:]
	}
	base, star := strings.CutSuffix(strings.TrimSpace(base), "*")
	if star {
		name = "*" + name
	}
	return "typedef " + strings.TrimSpace(base) + " " + name + bound + ";"
}

// missing is a name that is used but not declared.
type missing struct {
	name string
	at   source.Span // first use
}

// missingNames returns the missing names of the unit, each once, in the order of their first use.
func (s *supplier) missingNames() []missing {
	declared := s.u.declaredNames()
	s.u.numbers = s.u.rpcNumbers()
	s.u.undeclared.uses = map[string]int{}
	var out []missing
	use := func(name string, at source.Span) {
		if declared[name] {
			return
		}
		if s.u.undeclared.use(name) == 1 {
			out = append(out, missing{name, at})
		}
	}
	for _, f := range s.u.files {
		for _, d := range f.Defs {
			d.Walk(func(t *syntax.Type) {
				if _, _, word := primitive(t.Name); t.Kind == syntax.Named && !(word && t.Tag == 0) && s.u.lookup(t.Name) == nil {
					use(t.Name, t.Span)
				}
			}, func(v *syntax.Value) {
				for _, name := range namesOf(*v) {
					_, builtin := builtinConst(name)
					numbers := s.u.numbered(name, v.Span)
					if _, flag := s.defines[name]; !flag && !builtin && s.u.lookup(name) == nil && len(numbers) == 0 {
						use(name, v.Span)
					}
				}
			}, func(*syntax.Def) {})
		}
	}
	return out
}

func namesOf(v syntax.Value) []string {
	switch {
	case v.Name:
		return []string{v.Text}
	case v.Expr:
		return syntax.ExprNames(v.Text)
	}
	return nil
}

// declaredNames returns the names that the files of the unit declare.
func (u *unit) declaredNames() map[string]bool {
	out := map[string]bool{}
	enter := func(d *syntax.Def) {
		out[d.Name.Name] = true
		for _, m := range d.Members {
			out[m.Name.Name] = true
		}
	}
	for _, f := range u.files {
		for _, d := range f.Defs {
			enter(d)
			d.Walk(func(*syntax.Type) {}, func(*syntax.Value) {}, enter)
		}
	}
	return out
}

// cDef is a %#define line.
type cDef struct {
	file *syntax.File
	def  *syntax.Def
}

// cDefs returns the %#define lines of the unit by name.
func (u *unit) cDefs() map[string][]cDef {
	out := map[string][]cDef{}
	for _, f := range u.files {
		for _, d := range f.CDefs {
			out[d.Name.Name] = append(out[d.Name.Name], cDef{f, d})
		}
	}
	return out
}

// fromDefine adds the constants and types of %#define lines, of each file the first with a
// name.
func (s *supplier) fromDefine(names []missing) bool {
	found := false
	defs, types := s.u.cDefs(), s.u.typeNames()
	for _, m := range names {
		last := (*syntax.File)(nil)
		for _, x := range defs[m.name] {
			if x.file == last || s.fromC[x.def] {
				continue
			}
			d := x.def
			r := diag.New(diag.CDefinition, d.Span, "%s is defined for C only: read as a constant", m.name).
				With(m.at, "used here").Helpf("write const %s = and the value", m.name)
			if d.Value.Name && s.namesType(types, d.Value.Text) {
				r.Message = m.name + " is defined for C only: read as a type"
				r = r.Helpf("write typedef %s %s;", d.Value.Text, m.name)
			}
			s.report(r)
			x.file.Defs = append(x.file.Defs, d)
			s.fromC[d] = true
			last, found = x.file, true
		}
	}
	return found
}

// fromRoutine adds the types for which a %#define line names an XDR routine. After
// "%#define xdr_dev_t xdr_u_int", dev_t has the wire form of u_int.
func (s *supplier) fromRoutine(names []missing) bool {
	found := false
	defs := s.u.cDefs()
	for _, m := range names {
		for _, x := range defs["xdr_"+m.name] {
			d := x.def
			wire, ok := strings.CutPrefix(d.Value.Text, "xdr_")
			if !ok || !d.Value.Name || wire == m.name || s.routines[m.name] {
				continue
			}
			s.routines[m.name] = true
			if _, plain, ok := primitive(wire); ok && plain != "" {
				wire = plain
			}
			s.report(diag.New(diag.CDefinition, d.Span, "%s is declared for C only: by this line, its wire form is %s", m.name, wire).
				With(m.at, "used here").Helpf("write typedef %s %s;", wire, m.name))
			s.give(synthetic("<"+x.file.Source.Base()+">", "typedef "+wire+" "+m.name+";\n"))
			found = true
		}
	}
	return found
}

// fromHeader reads NAME.x if a file of the unit includes NAME.h for C and NAME.x declares one
// of the names.
func (s *supplier) fromHeader(names []missing) bool {
	for _, f := range s.u.files {
		for _, h := range f.Headers {
			base, ok := strings.CutSuffix(path.Base(h.Name), ".h")
			if !ok || s.tried[base] {
				continue
			}
			s.tried[base] = true
			for _, dir := range append([]string{filepath.Dir(filepath.FromSlash(f.Source.Name))}, s.include...) {
				file := filepath.Join(dir, base+".x")
				if s.readHeader(file, h, names) {
					return true
				}
			}
		}
	}
	return false
}

func (s *supplier) readHeader(file string, h syntax.Header, names []missing) bool {
	abs, err := filepath.Abs(file)
	if err != nil || s.u.have[abs] {
		return false
	}
	for _, m := range names {
		if !s.lib.declares(file, m.name) {
			continue
		}
		f, err := s.lib.read(file, abs, s.lib.found)
		if err != nil {
			return false
		}
		s.u.have[abs] = true
		s.report(diag.New(diag.CHeader, h.Span, "%s stands for %s, which declares %s: read with this file", diag.Quote(h.Name), f.Base(), m.name).
			With(m.at, "used here").Helpf("write #include \"%s\"", f.Base()))
		s.u.files = append(s.u.files, s.parseHeader(f))
		return true
	}
	return false
}

// fromPrelude adds declarations of the prelude.
func (s *supplier) fromPrelude(names []missing) bool {
	found := false
	for _, m := range names {
		for _, g := range prelude() {
			if g.name != m.name {
				continue
			}
			s.give(synthetic("<prelude>", "/* Not declared in the file, taken from "+g.from+". */\n"+g.xdr+"\n"))
			s.report(diag.New(diag.Prelude, m.at, "%s is not declared: read as in %s", m.name, g.from).Helpf("write it into the file: %s", g.xdr))
			found = true
		}
	}
	return found
}
