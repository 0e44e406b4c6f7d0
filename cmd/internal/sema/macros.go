package sema

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// maxMacro limits how many #define lines may lead from one to the next before a type.
const maxMacro = 64

// fixMacros interprets the #define lines. If the value is a type, the line declares a type. A
// line that is not used and has no integer value is for C: it is left out.
func (s *supplier) fixMacros() {
	used := s.u.usedNames()
	changed := true
	for round := 0; changed && round < maxMacro; round++ {
		changed = false
		declared, types := s.u.declaredNames(), s.u.typeNames()
		for _, f := range s.u.files {
			kept := f.Defs[:0]
			for _, d := range f.Defs {
				if d.Macro && (d.Value.Name || d.Value.Expr) {
					switch {
					case d.Value.Name && s.namesType(types, d.Value.Text):
						d, changed = macroType(d), true
					case !used[d.Name.Name] && !s.known(declared, d.Value):
						changed = true
						s.report(diag.New(diag.UnknownDirective, d.Span, "value %s of #define %s is not an integer: left out",
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

func (s *supplier) namesType(types map[string]bool, name string) bool {
	_, _, word := primitive(name)
	sym := s.u.lookup(name)
	return word || types[name] || sym != nil && sym.isType()
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
func (s *supplier) known(declared map[string]bool, v syntax.Value) bool {
	for _, n := range namesOf(v) {
		_, builtin := builtinConst(n)
		numbers := s.u.numbered(n, v.Span)
		if _, flag := s.defines[n]; !declared[n] && !flag && !builtin && s.u.lookup(n) == nil && len(numbers) == 0 {
			return false
		}
	}
	return true
}
