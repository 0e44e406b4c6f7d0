package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/syntax"
)

// This file is about names that the language has for itself: TRUE, FALSE and bool, which
// some files declare again, and the two keywords of RFC 5531.

// restates reports whether a declaration of a constant of the language gives it the value
// that it has.
func (s *symbol) restates() bool {
	b, ok := builtinConst(s.name)
	n, known := s.literal()
	return ok && known && n == b.Abs
}

// literal returns the value of a constant or member that is written as a small number, or
// left out after such members.
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

// languageBool handles enum bool, which RFC 4506 §4.4 declares: with the members that it
// has there it is left out.
func (c *compiler) languageBool(d *syntax.Def) {
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
		Note("with the members FALSE = 0 and TRUE = 1 only, it could be left out"))
}

// rpcWords warns of the keywords of RFC 5531 §12.3 where they are names, once each.
func (c *compiler) rpcWords(u *unit) {
	for _, f := range u.files {
		for _, d := range f.Defs {
			d.Names(func(n syntax.Ident) {
				if n.Name != "program" && n.Name != "version" || u.warned[n.Name] && !c.o.Every {
					return
				}
				u.warned[n.Name] = true
				c.report(diag.New(diag.RPCWord, n.Span, "%s is a keyword of RFC 5531, used as a name", n.Name))
			})
		}
	}
}
