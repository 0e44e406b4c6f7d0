package sema

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// symbol is a declared name. Constants, types (RFC 4506 §6.4 (3)) and programs (RFC 5531 §12.3)
// share one name space.
type symbol struct {
	name   string
	span   source.Span
	def    *syntax.Def
	decl   *ir.Decl       // the declaration; for an enumerator, its enum
	member *ir.Member     // the enumerator, or nil
	from   *syntax.Member // the enumerator in the text
	prev   *symbol        // the enumerator before it
	broken bool           // has a fault that was reported

	value ir.Value
	state state // of value
}

type state int

const (
	unresolved state = iota
	resolving
	resolved
)

// isConst reports whether the symbol is a constant or an enumerator.
func (s *symbol) isConst() bool { return s.member != nil || s.decl.Kind == ir.Const }

// isType reports whether the symbol is a type.
func (s *symbol) isType() bool {
	return s.member == nil && s.decl.Kind != ir.Const && s.decl.Kind != ir.Program
}

// collector enters the declarations of a unit into its scope.
type collector struct {
	*findings
	u *unit
}

// declare enters the names of all definitions into the scope.
func (c *collector) declare() {
	c.rpcWords()
	c.fixReversed()
	for _, f := range c.u.files {
		for _, d := range f.Defs {
			c.declareDef(d)
		}
	}
	for _, s := range append([]*symbol(nil), c.u.scope.syms...) {
		if s.member == nil {
			c.declareInner(s)
		}
	}
}

func (c *collector) declareDef(d *syntax.Def) {
	if d.Kind == syntax.Typedef && d.Decl != nil && !d.Decl.Star && d.Decl.Shape == syntax.Plain {
		t := d.Decl.Type
		_, _, ofC := primitive(t.Name)
		if t.Kind == syntax.Named && (t.Tag != 0 || ofC) && t.Name == d.Name.Name {
			c.report(diag.New(diag.SelfTypedef, d.Name.Span, "typedef of %s as itself", d.Name.Name))
			return
		}
		if t.Kind == syntax.Inline { // typedef struct { ... } t; declares struct t
			tag := t.Body.Name
			body := *t.Body
			body.Name, body.Span, body.Doc, body.Tail, body.Broken = d.Name, d.Span, d.Doc, d.Tail, d.Broken
			if tag.Name != "" && tag.Name != d.Name.Name {
				body.Name = tag
				c.declareDef(&body)
				t.Kind, t.Name, t.Tag = syntax.Named, tag.Name, body.Kind
			} else {
				*d = body
			}
		}
	}
	if d.Kind == syntax.Const && d.Value.Str {
		if !d.Broken {
			c.report(diag.New(diag.StringConst, d.Value.Span, "constant %s is a string", d.Name.Name))
		}
		c.u.scope.strings[d.Name.Name] = d.Name.Span
		return
	}
	if d.Kind == syntax.Enum && d.Name.Name == "bool" {
		c.languageBool(d)
		return
	}
	decl := &ir.Decl{Kind: declKind(d.Kind), Name: d.Name.Name, Pos: d.Name.Span, Doc: d.Doc, Tail: d.Tail, Import: c.u.imp}
	if of := c.u.amended.of[d]; of != nil {
		decl.Of, decl.Open = of, of.Open
	}
	s := &symbol{name: d.Name.Name, span: d.Name.Span, def: d, decl: decl, broken: d.Broken}
	if !c.enter(s) {
		return
	}
	if decl.Of != nil {
		c.u.standsIn(s, c.u)
	}
	c.u.decls = append(c.u.decls, decl)
	c.declareMembers(s)
}

func declKind(k syntax.DefKind) ir.DeclKind {
	switch k {
	case syntax.Const:
		return ir.Const
	case syntax.Enum:
		return ir.Enum
	case syntax.Struct:
		return ir.Struct
	case syntax.Union:
		return ir.Union
	case syntax.Program:
		return ir.Program
	}
	return ir.Typedef
}

// enter enters a symbol into the scope. If the name is taken, it reports this and returns false.
func (c *collector) enter(s *symbol) bool {
	if b, ok := builtinConst(s.name); ok {
		if s.broken {
			return false
		}
		if !s.restates() {
			c.report(diag.New(diag.DuplicateName, s.span, "%s is a constant of the language", s.name).Note("its value there is %s", show(b)))
			return false
		}
		d := diag.New(diag.LanguageName, s.span, "%s is declared by the language, with this value", s.name)
		if s.member == nil {
			c.report(d)
			return false
		}
		c.report(d.Helpf("use bool in the place of enum %s, or give its members other names; the wire does not change", s.decl.Name))
	}
	if old := c.u.scope.names[s.name]; old != nil {
		if s.def != nil && s.def.Macro && old.def != nil && old.def.Macro && s.def.Value.Text == old.def.Value.Text {
			return false // #define of the same value again, as C allows
		}
		if s.broken || old.broken { // the fault of one of them was reported
			if old.broken {
				c.u.scope.put(s)
			}
			return old.broken
		}
		if sameText(s.def, old.def) {
			c.report(diag.New(diag.RepeatedTypedef, s.span, "typedef %s occurs twice", s.name).With(old.span, "the first is here"))
			return false
		}
		d := diag.New(diag.DuplicateName, s.span, "%s is declared twice", s.name).With(old.span, "declared here first")
		if s.member != nil || old.member != nil {
			d = d.Note("members of all enums, constants and types share one scope")
		}
		c.report(d)
		return false
	}
	c.u.scope.put(s)
	return true
}

// sameText reports whether two typedefs have the same text.
func sameText(a, b *syntax.Def) bool {
	if a == nil || b == nil || a.Decl == nil || b.Decl == nil || a.Kind != syntax.Typedef || b.Kind != syntax.Typedef {
		return false
	}
	x, y := a.Decl, b.Decl
	return x.Type.Kind != syntax.Inline && x.Type.Kind == y.Type.Kind && x.Type.Name == y.Type.Name && x.Type.Tag == y.Type.Tag &&
		x.Star == y.Star && x.Shape == y.Shape && (x.Bound == nil) == (y.Bound == nil) && (x.Bound == nil || x.Bound.Text == y.Bound.Text)
}

// declareMembers enters the members of an enum, which are constants of the whole scope (RFC 4506
// §4.3).
func (c *collector) declareMembers(s *symbol) {
	if s.def.Kind != syntax.Enum {
		return
	}
	var prev *symbol
	for _, m := range s.def.Members {
		member := &ir.Member{Name: m.Name.Name, Pos: m.Name.Span, Doc: m.Doc, Tail: m.Tail}
		ms := &symbol{name: m.Name.Name, span: m.Name.Span, decl: s.decl, member: member, from: m, prev: prev, broken: s.broken}
		if old := c.u.scope.names[ms.name]; old != nil && old.decl == s.decl {
			c.report(diag.New(diag.DuplicateMember, ms.span, "enum %s has two members %s", s.name, ms.name).With(old.span, "declared here first"))
			continue
		}
		if c.enter(ms) {
			s.decl.Members = append(s.decl.Members, member)
			prev = ms
		}
	}
}

// fixReversed reports typedefs with the new name first, and reverses them so that uses of the new
// name are not reported. "typedef a b;" is reversed if b is a type and a is not declared.
func (c *collector) fixReversed() {
	count := map[string]int{}
	reversible := map[string]bool{}
	for _, f := range c.u.files {
		for _, d := range f.Defs {
			count[d.Name.Name]++
			if d.Kind == syntax.Typedef {
				continue
			}
			reversible[d.Name.Name] = d.Kind != syntax.Const && d.Kind != syntax.Program
		}
	}
	known := func(name string) bool {
		return count[name] > 0 || c.u.lookup(name) != nil
	}
	for _, f := range c.u.files {
		for _, d := range f.Defs {
			if d.Kind != syntax.Typedef || d.Decl == nil {
				continue
			}
			first, second := d.Decl.Type.Name, d.Name.Name
			_, _, prim := primitive(second)
			_, _, firstPrim := primitive(first)
			word := strings.Contains(second, " ") || isWord(second)
			named := d.Decl.Type.Kind == syntax.Named && d.Decl.Type.Tag == 0
			if !named || known(first) || firstPrim || !(word || prim || reversible[second] || count[second] > 1) {
				if word && !d.Broken {
					d.Broken = true
					c.report(diag.New(diag.SyntaxError, d.Name.Span, "found %s, expected a new name", diag.Quote(second)).
						Helpf("%s is a word of the language: choose another name", second))
				}
				continue
			}
			c.turnRound(d, first, second)
			count[first]++
		}
	}
}

// isWord reports whether a name is a keyword of the language that is a type.
func isWord(name string) bool {
	switch name {
	case "int", "hyper", "bool", "float", "double", "unsigned", "string", "opaque":
		return true
	}
	return false
}

func (c *collector) turnRound(d *syntax.Def, newName, oldType string) {
	bounds := ""
	if d.Decl.Bound != nil {
		bounds = d.Decl.Bound.Text
	}
	switch d.Decl.Shape {
	case syntax.Fixed:
		bounds = "[" + bounds + "]"
	case syntax.Variable:
		bounds = "<" + bounds + ">"
	}
	c.report(diag.New(diag.ReversedTypedef, d.Decl.Span, "typedef has the new name %s before the type %s", newName, oldType).
		Helpf("write typedef %s %s%s;", oldType, newName, bounds).
		Replace(d.Decl.Span, oldType+" "+newName+bounds))
	typeSpan, nameSpan := d.Decl.Type.Span, d.Name.Span
	t := &syntax.Type{Kind: syntax.Named, Name: oldType, Span: nameSpan}
	if isWord(oldType) || strings.Contains(oldType, " ") {
		t.Kind = syntax.Prim
		switch oldType {
		case "opaque":
			t.Kind = syntax.Opaque
		case "string":
			t.Kind = syntax.String
		}
	}
	d.Decl.Type = t
	d.Name = syntax.Ident{Name: newName, Span: typeSpan}
	d.Decl.Name = d.Name
}
