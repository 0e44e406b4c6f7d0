package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// This file handles the names that the language declares: TRUE, FALSE and bool, which some files
// declare again, and the two keywords of RFC 5531.

// restates reports whether s declares a constant of the language with the value that it has in
// the language.
func (s *symbol) restates() bool {
	b, ok := builtinConst(s.name)
	n, known := s.literal()
	return ok && known && n == b.Abs
}

// literal returns the value of a constant or member with a number in the text, or of a member
// without one that follows such members.
func (s *symbol) literal() (n uint64, ok bool) {
	var v *syntax.Value
	switch {
	case s.member != nil:
		v = s.from.Value
	case s.def.Kind == syntax.Const:
		v = &s.def.Value
	default:
		return 0, false
	}
	switch {
	case v != nil:
		return v.Abs, !v.Neg && !v.Name && !v.Expr && !v.Str
	case s.prev == nil:
		return 0, true
	}
	n, ok = s.prev.literal()
	return n + 1, ok
}

// languageBool handles a declaration of enum bool, which RFC 4506 §4.4 declares. With the members
// of the RFC it is ignored. With others it is an error.
func (c *collector) languageBool(d *syntax.Def) {
	if d.Broken {
		return
	}
	same := len(d.Members) == 2
	var prev *symbol
	for _, m := range d.Members {
		s := &symbol{name: m.Name.Name, member: &ir.Member{}, from: m, prev: prev}
		same = same && s.restates()
		prev = s
	}
	if same && d.Members[0].Name.Name != d.Members[1].Name.Name {
		c.report(diag.New(diag.LanguageName, d.Name.Span, "enum bool is declared by the language"))
		return
	}
	c.report(diag.New(diag.DuplicateName, d.Name.Span, "bool is a type of the language").
		Note("it would be ignored if it had the members FALSE = 0 and TRUE = 1 only"))
}

// rpcWords warns of each RFC 5531 §12.3 keyword that is used as a name, once for each.
func (c *collector) rpcWords() {
	for _, f := range c.u.files {
		for _, d := range f.Defs {
			d.Names(func(n syntax.Ident) {
				if n.Name != "program" && n.Name != "version" || !c.first(c.u, n.Name) {
					return
				}
				c.report(diag.New(diag.RPCWord, n.Span, "%s is a keyword of RFC 5531, used as a name", n.Name))
			})
		}
	}
}
