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

// outside adds the declarations that the files of a unit use but do not have. They come from
// the flags and the sidecar, else from a %#define line for C (a constant, or the XDR routine of
// a type), else from the .x file that an included C header was generated from, else from the
// prelude. All but those of flags and sidecar are reported as warnings.
func (c *compiler) outside(u *unit) {
	c.giveTypes(u)
	tried := map[string]bool{}
	for {
		names := c.missingNames(u)
		if len(names) == 0 || !c.fromDefine(u, names) && !c.fromRoutine(u, names) && !c.fromHeader(u, names, tried) && !c.fromPrelude(u, names) {
			break
		}
	}
	c.fixMacros(u)
}

// synthetic returns a text of the compiler as a file.
func synthetic(name, text string) *source.File {
	f := source.NewFile(name, []byte(text))
	f.Synthetic = true
	return f
}

// giveTypes adds the declarations of the flags and of the sidecar.
func (c *compiler) giveTypes(u *unit) {
	if u.imp == nil {
		for _, g := range c.o.Types {
			c.give(u, synthetic("<-type "+g.Name+">", declaration(g.Name, g.XDR)+"\n"))
		}
	}
	for _, g := range u.given {
		text := "const " + g.Name.Text + " = " + g.Text + ";"
		if g.Type {
			text = declaration(g.Name.Text, g.Text)
		}
		at := g.Name.Pos.Position()
		c.give(u, synthetic(fmt.Sprintf("<%s line %d>", g.Name.Pos.File.Base(), at.Line), text+"\n"))
	}
}

func (c *compiler) give(u *unit, f *source.File) {
	u.files = append(u.files, c.parse(u, f))
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
func (c *compiler) missingNames(u *unit) []missing {
	declared := u.declaredNames()
	u.numbers = u.rpcNumbers()
	u.uses = map[string]int{}
	var out []missing
	use := func(name string, at source.Span) {
		if declared[name] {
			return
		}
		if u.uses[name]++; u.uses[name] == 1 {
			out = append(out, missing{name, at})
		}
	}
	for _, f := range u.files {
		for _, d := range f.Defs {
			d.Walk(func(t *syntax.Type) {
				if _, _, word := primitive(t.Name); t.Kind == syntax.Named && !(word && t.Tag == 0) && u.lookup(t.Name) == nil {
					use(t.Name, t.Span)
				}
			}, func(v *syntax.Value) {
				for _, name := range namesOf(*v) {
					_, builtin := builtinConst(name)
					_, numbers := u.numbered(name)
					if _, flag := c.o.Defines[name]; !flag && !builtin && u.lookup(name) == nil && len(numbers) == 0 {
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
func (c *compiler) fromDefine(u *unit, names []missing) bool {
	found := false
	defs, types := u.cDefs(), u.typeNames()
	for _, m := range names {
		last := (*syntax.File)(nil)
		for _, x := range defs[m.name] {
			if x.file == last || u.fromC[x.def] {
				continue
			}
			d := x.def
			r := diag.New(diag.CDefinition, d.Span, "%s is defined for C only: read as a constant", m.name).
				With(m.at, "used here").Helpf("write const %s = and the value", m.name)
			if d.Value.Name && c.namesType(u, types, d.Value.Text) {
				r.Message = m.name + " is defined for C only: read as a type"
				r = r.Helpf("write typedef %s %s;", d.Value.Text, m.name)
			}
			c.report(r)
			x.file.Defs = append(x.file.Defs, d)
			u.fromC[d] = true
			last, found = x.file, true
		}
	}
	return found
}

// fromRoutine adds the types for which a %#define line names an XDR routine. After
// "%#define xdr_dev_t xdr_u_int", dev_t has the wire form of u_int.
func (c *compiler) fromRoutine(u *unit, names []missing) bool {
	found := false
	defs := u.cDefs()
	for _, m := range names {
		for _, x := range defs["xdr_"+m.name] {
			d := x.def
			wire, ok := strings.CutPrefix(d.Value.Text, "xdr_")
			if !ok || !d.Value.Name || wire == m.name || u.routines[m.name] {
				continue
			}
			u.routines[m.name] = true
			if _, plain, ok := primitive(wire); ok && plain != "" {
				wire = plain
			}
			c.report(diag.New(diag.CDefinition, d.Span, "%s is declared for C only: by this line, its wire form is %s", m.name, wire).
				With(m.at, "used here").Helpf("write typedef %s %s;", wire, m.name))
			c.give(u, synthetic("<"+x.file.Source.Base()+">", "typedef "+wire+" "+m.name+";\n"))
			found = true
		}
	}
	return found
}

// fromHeader reads NAME.x if a file of the unit includes NAME.h for C and NAME.x declares one
// of the names.
func (c *compiler) fromHeader(u *unit, names []missing, tried map[string]bool) bool {
	for _, f := range u.files {
		for _, h := range f.Headers {
			base, ok := strings.CutSuffix(path.Base(h.Name), ".h")
			if !ok || tried[base] {
				continue
			}
			tried[base] = true
			for _, dir := range append([]string{filepath.Dir(filepath.FromSlash(f.Source.Name))}, c.o.Include...) {
				file := filepath.Join(dir, base+".x")
				if c.readHeader(u, file, h, names) {
					return true
				}
			}
		}
	}
	return false
}

func (c *compiler) readHeader(u *unit, file string, h syntax.Header, names []missing) bool {
	abs, err := filepath.Abs(file)
	if err != nil || u.have[abs] {
		return false
	}
	for _, m := range names {
		if !c.declares(file, m.name) {
			continue
		}
		f, err := c.read(file, abs, c.found)
		if err != nil {
			return false
		}
		u.have[abs] = true
		c.report(diag.New(diag.CHeader, h.Span, "%s stands for %s, which declares %s: read with this file", diag.Quote(h.Name), f.Base(), m.name).
			With(m.at, "used here").Helpf("write #include \"%s\"", f.Base()))
		c.loading = append(c.loading, u)
		u.files = append(u.files, c.parse(u, f))
		c.loading = c.loading[:len(c.loading)-1]
		return true
	}
	return false
}

// fromPrelude adds declarations of the prelude.
func (c *compiler) fromPrelude(u *unit, names []missing) bool {
	found := false
	for _, m := range names {
		for _, g := range prelude() {
			if g.name != m.name {
				continue
			}
			c.give(u, synthetic("<prelude>", "/* Not declared in the file, taken from "+g.from+". */\n"+g.xdr+"\n"))
			c.report(diag.New(diag.Prelude, m.at, "%s is not declared: read as in %s", m.name, g.from).Helpf("write it into the file: %s", g.xdr))
			found = true
		}
	}
	return found
}

// maxMacro limits the length of a chain of #define lines that ends in a type.
const maxMacro = 64

// fixMacros interprets the #define lines. If the value is a type, the line declares a type. A
// line that is not used and has no integer value is for C: it is left out.
func (c *compiler) fixMacros(u *unit) {
	used := u.usedNames()
	changed := true
	for round := 0; changed && round < maxMacro; round++ {
		changed = false
		declared, types := u.declaredNames(), u.typeNames()
		for _, f := range u.files {
			kept := f.Defs[:0]
			for _, d := range f.Defs {
				if d.Macro && (d.Value.Name || d.Value.Expr) {
					switch {
					case d.Value.Name && c.namesType(u, types, d.Value.Text):
						d, changed = macroType(d), true
					case !used[d.Name.Name] && !c.known(u, declared, d.Value):
						changed = true
						c.report(diag.New(diag.UnknownDirective, d.Span, "value %s of #define %s is not an integer: left out",
							diag.Quote(d.Value.Text), d.Name.Name))
						continue
					}
				}
				kept = append(kept, d)
			}
			f.Defs = kept
		}
	}
}

// typeNames returns the names of the types that the files of the unit declare.
func (u *unit) typeNames() map[string]bool {
	out := map[string]bool{}
	for _, f := range u.files {
		for _, d := range f.Defs {
			if d.Kind != syntax.Const && d.Kind != syntax.Program {
				out[d.Name.Name] = true
			}
		}
	}
	return out
}

func (c *compiler) namesType(u *unit, types map[string]bool, name string) bool {
	_, _, word := primitive(name)
	s := u.lookup(name)
	return word || types[name] || s != nil && s.isType()
}

// macroType returns the typedef for a #define whose value is a type.
func macroType(d *syntax.Def) *syntax.Def {
	t := &syntax.Type{Kind: syntax.Named, Name: d.Value.Text, Span: d.Value.Span}
	if isWord(t.Name) || strings.Contains(t.Name, " ") {
		t.Kind = syntax.Prim
	}
	decl := &syntax.Decl{Type: t, Name: d.Name, Span: d.Span}
	return &syntax.Def{Kind: syntax.Typedef, Span: d.Span, Name: d.Name, Decl: decl, Doc: d.Doc, Tail: d.Tail}
}

// usedNames returns the names that are used outside #define lines, and the names that the
// #define lines of these names use.
func (u *unit) usedNames() map[string]bool {
	out := map[string]bool{}
	macros := map[string]*syntax.Def{}
	var use func(name string)
	use = func(name string) {
		if out[name] {
			return
		}
		out[name] = true
		if d := macros[name]; d != nil {
			for _, n := range namesOf(d.Value) {
				use(n)
			}
		}
	}
	each := func(do func(*syntax.Def)) {
		for _, f := range u.files {
			for _, d := range f.Defs {
				do(d)
			}
		}
	}
	each(func(d *syntax.Def) {
		if d.Macro {
			macros[d.Name.Name] = d
		}
	})
	each(func(d *syntax.Def) {
		if d.Macro {
			return
		}
		d.Walk(func(t *syntax.Type) { use(t.Name) }, func(v *syntax.Value) {
			for _, n := range namesOf(*v) {
				use(n)
			}
		}, func(*syntax.Def) {})
	})
	return out
}

// known reports whether all names of a value are declared.
func (c *compiler) known(u *unit, declared map[string]bool, v syntax.Value) bool {
	for _, n := range namesOf(v) {
		_, builtin := builtinConst(n)
		_, numbers := u.numbered(n)
		if _, flag := c.o.Defines[n]; !declared[n] && !flag && !builtin && u.lookup(n) == nil && len(numbers) == 0 {
			return false
		}
	}
	return true
}
