package sema

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// declareInner declares the types inside a definition. Their names are their tags, or else
// PARENT_FIELD.
func (c *collector) declareInner(s *symbol) {
	def := s.def
	if def.Decl != nil {
		c.declareInline(s.name, "item", def.Decl.Type)
	}
	for _, f := range def.Fields {
		c.declareInline(s.name, f.Name.Name, f.Type)
	}
	if def.Disc != nil {
		c.declareInline(s.name, def.Disc.Name.Name, def.Disc.Type)
	}
	for _, a := range def.Arms {
		for _, f := range a.Decls {
			c.declareInline(s.name, f.Name.Name, f.Type)
		}
	}
	for _, v := range def.Versions {
		for _, p := range v.Procs {
			c.declareInline(p.Name.Name, "res", p.Result.Type)
			for i, a := range p.Args {
				name := a.Name.Name
				if name == "" {
					name = fmt.Sprintf("arg%d", i+1)
				}
				c.declareInline(p.Name.Name, name, a.Type)
			}
		}
	}
}

func (c *collector) declareInline(parent, field string, t *syntax.Type) {
	if t.Kind != syntax.Inline {
		return
	}
	name, anon := t.Body.Name, t.Body.Name.Name == ""
	if anon {
		name = syntax.Ident{Name: parent + "_" + field, Span: t.Body.Span}
		name.Span.End = name.Span.Start
		for c.u.lookup(name.Name) != nil {
			name.Name += "_"
		}
	} else {
		c.report(diag.New(diag.NestedTag, name.Span, "%s %s is declared inside %s", t.Body.Kind, name.Name, parent))
	}
	d := &ir.Decl{Kind: declKind(t.Body.Kind), Name: name.Name, Pos: name.Span, Import: c.u.imp, Anon: anon, Inner: true}
	d.Of = c.u.amended.inner[t.Body]
	s := &symbol{name: d.Name, span: d.Pos, def: t.Body, decl: d, broken: t.Body.Broken}
	if !c.enter(s) {
		return
	}
	if d.Of != nil {
		c.u.standsIn(s, c.u)
	}
	c.u.scope.inner[t.Body] = s
	c.declareMembers(s)
	c.declareInner(s)
}
