package compat

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// pair is the two versions of a declaration.
type pair struct{ old, new *ir.Decl }

// maxGuesses limits how many pairs are tried when looking for renames.
const maxGuesses = 1 << 16

// isType reports whether a declaration declares a type, and not a constant or a program.
func isType(d *ir.Decl) bool { return d.Kind != ir.Const && d.Kind != ir.Program }

// sameSort reports whether two declarations can be versions of one: both are types, both
// constants or both programs.
func sameSort(a, b *ir.Decl) bool {
	return a.Kind == b.Kind || isType(a) && isType(b)
}

// match pairs declarations by name. It pairs the others by their encoding and the similarity
// of their names, and reports these as renamed.
func (c *comparer) match(old, new *ir.Unit) []pair {
	var pairs []pair
	pairUp := func(d, n *ir.Decl) {
		pairs = append(pairs, pair{d, n})
		c.twin[d], c.found[n] = n, true
	}
	a, b := old.AllDecls(), new.AllDecls()
	c.named(old, new, pairUp)
	guesses := 0
	left := slices.DeleteFunc(slices.Clone(b), func(n *ir.Decl) bool { return c.found[n] })
	for _, d := range a {
		if c.twin[d] != nil || guesses > maxGuesses {
			continue
		}
		var best *ir.Decl
		score := 0
		for _, n := range left {
			if c.found[n] {
				continue
			}
			if guesses++; guesses > maxGuesses {
				break
			}
			if s := similarity(d, n); s > score && c.sameButName(d, n) {
				best, score = n, s
			}
		}
		if best != nil {
			pairUp(d, best)
			c.renamed(d, best)
		}
	}
	return pairs
}

// place is the unit that declares a name. A copy with additions has the place of its original.
type place struct{ unit, name string }

func placeOf(d *ir.Decl, root string) place {
	if imp := d.Original().Import; imp != nil {
		return place{imp.Unit, d.Name}
	}
	return place{root, d.Name}
}

// named pairs declarations with the same name: first in units with the same name, then in the two
// compared units, whose names can differ, and then in any units, since a declaration can move. If
// there are several to pair in the last step, one with the same encoding is taken, or else the
// first.
func (c *comparer) named(old, new *ir.Unit, pairUp func(d, n *ir.Decl)) {
	places, byName := map[place]*ir.Decl{}, map[string][]*ir.Decl{}
	for _, n := range new.AllDecls() {
		places[placeOf(n, new.Name)] = n
		byName[n.Name] = append(byName[n.Name], n)
	}
	pair := func(find func(d *ir.Decl) *ir.Decl) {
		for _, d := range old.AllDecls() {
			if c.twin[d] != nil {
				continue
			}
			if n := find(d); n != nil && !c.found[n] && sameSort(d, n) {
				pairUp(d, n)
			}
		}
	}
	pair(func(d *ir.Decl) *ir.Decl { return places[placeOf(d, old.Name)] })
	pair(func(d *ir.Decl) *ir.Decl {
		if d.Original().Import != nil {
			return nil
		}
		return places[placeOf(d, new.Name)]
	})
	pair(func(d *ir.Decl) *ir.Decl {
		free := slices.DeleteFunc(slices.Clone(byName[d.Name]), func(n *ir.Decl) bool { return c.found[n] || !sameSort(d, n) })
		if i := slices.IndexFunc(free, func(n *ir.Decl) bool { return c.sameButName(d, n) }); i > 0 {
			return free[i]
		}
		if len(free) > 0 {
			return free[0]
		}
		return nil
	})
}

// pairInPlace pairs two unmatched declarations that are used in the same place and are
// similar enough: the declaration changed its name and its contents at once. It reports
// whether it did.
func (c *comparer) pairInPlace(a, b *ir.Type) bool {
	if a.Ref == nil || b.Ref == nil || a.Kind != b.Kind || a.Ref.Kind != b.Ref.Kind ||
		c.twin[a.Ref] != nil || c.found[b.Ref] || similarity(a.Ref, b.Ref) == 0 {
		return false
	}
	c.twin[a.Ref], c.found[b.Ref] = b.Ref, true
	c.renamed(a.Ref, b.Ref)
	c.decl(a.Ref, b.Ref)
	return true
}

// renamed reports that a declaration was renamed.
func (c *comparer) renamed(old, new *ir.Decl) {
	if !old.Anon || !new.Anon {
		c.add(DeclRenamed, path(new), old.Pos, new.Pos, "%s was renamed from %s", path(new), old.Name)
	}
}

// unmatched reports the declarations that exist in one version only.
func (c *comparer) unmatched(old, new []*ir.Decl) {
	messages := roots(old)
	for _, d := range old {
		switch {
		case c.twin[d] != nil:
		case d.Kind == ir.Program:
			c.add(ProgramRemoved, path(d), d.Pos, noSpan, "%s (%d) was removed", path(d), d.Program.Number)
		case messages[d]:
			c.add(MessageRemoved, path(d), d.Pos, noSpan, "%s was removed", path(d))
		case !d.Anon:
			c.add(DeclRemoved, path(d), d.Pos, noSpan, "%s was removed", path(d))
		}
	}
	for _, d := range new {
		if !c.found[d] && !d.Anon {
			c.add(DeclAdded, path(d), noSpan, d.Pos, "%s was added", path(d))
		}
	}
}

// roots returns the structs and unions that may be messages: nothing refers to them. If there
// is a program, it declares all messages, and roots returns nil.
func roots(decls []*ir.Decl) map[*ir.Decl]bool {
	out := map[*ir.Decl]bool{}
	for _, d := range decls {
		if d.Kind == ir.Program {
			return nil
		}
		if d.Kind == ir.Struct || d.Kind == ir.Union {
			out[d] = true
		}
	}
	for _, d := range decls {
		for u := range d.Types() {
			if r := u.Type.Ref; r != nil && r != d {
				delete(out, r)
			}
		}
	}
	return out
}

// sameButName reports whether two declarations have the same encoding or value, so that they may
// differ only in name.
func (c *comparer) sameButName(a, b *ir.Decl) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case ir.Const:
		return a.Value.Neg == b.Value.Neg && a.Value.Abs == b.Value.Abs
	case ir.Program:
		return a.Program.Number == b.Program.Number
	}
	return c.wire.sameDecl(a, b)
}

// similarity returns a score for how likely two declarations are versions of one: the letters
// that their names share at both ends, and the parts with the same name. It is 0 if they
// share neither half of the letters nor half of the parts.
func similarity(a, b *ir.Decl) int {
	n, x, y := 0, strings.ToLower(a.Name), strings.ToLower(b.Name)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		n, x, y = n+1, x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		n, x, y = n+1, x[:len(x)-1], y[:len(y)-1]
	}
	if a.Kind == ir.Program {
		return n + 1 // sameButName compares the numbers, which is enough
	}
	p, q := parts(a), parts(b)
	shared := 0
	for i := range min(len(p), len(q)) {
		if p[i] == q[i] {
			shared++
		}
	}
	if 2*n < max(len(a.Name), len(b.Name)) && (shared == 0 || 2*shared < max(len(p), len(q))) {
		return 0
	}
	return n + 8*shared
}

// parts returns the names of the fields, members and arms of a declaration.
func parts(d *ir.Decl) []string {
	var out []string
	for _, f := range d.Fields {
		out = append(out, f.Name)
	}
	for _, m := range d.Members {
		out = append(out, m.Name)
	}
	for _, a := range d.Arms {
		if a.Field != nil {
			out = append(out, a.Field.Name)
		}
	}
	return out
}

// uses returns the constants that are used as a bound or case.
func uses(decls []*ir.Decl) map[*ir.Decl]bool {
	out := map[*ir.Decl]bool{}
	for _, d := range decls {
		for u := range d.Types() {
			if bound := u.Type.LenConst; bound != nil {
				out[bound] = true
			}
		}
		for _, a := range d.Arms {
			for _, l := range a.Labels {
				if l.Const != nil {
					out[l.Const] = true
				}
			}
		}
	}
	return out
}
