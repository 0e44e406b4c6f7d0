package compat

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

type pair struct{ old, new *ir.Decl }

// maxGuesses limits how many pairs of names are tried for a rename.
const maxGuesses = 1 << 16

// isType tells declarations of types from constants and programs.
func isType(d *ir.Decl) bool { return d.Kind != ir.Const && d.Kind != ir.Program }

// sameSort reports whether two declarations can be states of one: both types,
// both constants or both programs.
func sameSort(a, b *ir.Decl) bool {
	return a.Kind == b.Kind || isType(a) && isType(b)
}

// match pairs declarations: by name, then what is left by its form. It reports
// those without partner, and those that were renamed.
func (c *comparer) match(old, new []*ir.Decl) []pair {
	byName := make(map[string]*ir.Decl, len(new))
	for _, d := range new {
		byName[d.Name] = d
	}
	var pairs []pair
	var lost []*ir.Decl
	taken := map[*ir.Decl]bool{}
	for _, d := range old {
		if n := byName[d.Name]; n != nil && sameSort(d, n) {
			pairs = append(pairs, pair{d, n})
			c.twin[d], taken[n] = n, true
		} else {
			lost = append(lost, d)
		}
	}
	var found []*ir.Decl
	for _, d := range new {
		if !taken[d] {
			found = append(found, d)
		}
	}
	guesses := 0
	for _, d := range lost {
		var best *ir.Decl
		for _, n := range found {
			if guesses++; taken[n] || guesses > maxGuesses || !renamed(d, n) {
				continue
			}
			if best == nil || likeness(d, n) > likeness(d, best) {
				best = n
			}
		}
		if best == nil {
			switch {
			case d.Kind == ir.Program:
				c.add(ProgramRemoved, path(d), d.Pos, noPlace, "%s (%d) is gone", path(d), d.Program.Number)
			case !d.Anon:
				c.add(DeclRemoved, path(d), d.Pos, noPlace, "%s is gone", path(d))
			}
			continue
		}
		taken[best], c.twin[d] = true, best
		pairs = append(pairs, pair{d, best})
		if !d.Anon || !best.Anon {
			c.add(DeclRenamed, path(best), d.Pos, best.Pos, "%s was called %s", path(best), d.Name)
		}
	}
	for _, d := range found {
		if !taken[d] && !d.Anon {
			c.add(DeclAdded, path(d), noPlace, d.Pos, "%s is new", path(d))
		}
	}
	return pairs
}

// renamed reports whether two declarations are the same but for the name.
func renamed(a, b *ir.Decl) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case ir.Const:
		return a.Value.Neg == b.Value.Neg && a.Value.Abs == b.Value.Abs
	case ir.Program:
		return a.Program.Number == b.Program.Number
	}
	return sameDecl(a, b)
}

// likeness counts the letters that two names have in common at their ends, and
// the names of the parts that agree, which weigh more.
func likeness(a, b *ir.Decl) int {
	n, x, y := 0, a.Name, b.Name
	for len(x) > 0 && len(y) > 0 && x[0]|0x20 == y[0]|0x20 {
		n, x, y = n+1, x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1]|0x20 == y[len(y)-1]|0x20 {
		n, x, y = n+1, x[:len(x)-1], y[:len(y)-1]
	}
	for i := range min(len(a.Fields), len(b.Fields)) {
		if a.Fields[i].Name == b.Fields[i].Name {
			n += 8
		}
	}
	for i := range min(len(a.Members), len(b.Members)) {
		if a.Members[i].Name == b.Members[i].Name {
			n += 8
		}
	}
	return n
}

// uses returns the constants that are used as a bound or case.
func uses(decls []*ir.Decl) map[string]bool {
	out := map[string]bool{}
	var walk func(t *ir.Type)
	walk = func(t *ir.Type) {
		for ; t != nil; t = t.Elem {
			if t.LenText != "" {
				out[t.LenText] = true
			}
		}
	}
	for _, d := range decls {
		walk(d.Type)
		for _, f := range d.Fields {
			walk(f.Type)
		}
		for _, a := range d.Arms {
			if a.Field != nil {
				walk(a.Field.Type)
			}
			for _, l := range a.Labels {
				if l.Const != nil {
					out[l.Const.Name] = true
				}
			}
		}
		if d.Kind == ir.Program {
			for _, v := range d.Program.Versions {
				for _, p := range v.Procs {
					walk(p.Result)
					for _, f := range p.Args {
						walk(f.Type)
					}
				}
			}
		}
	}
	return out
}
