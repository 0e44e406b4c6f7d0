package lint

import (
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// fold returns a name without the case and underscores that other languages drop.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// names reports types, fields and members whose names clash, and names that mean something
// else elsewhere.
func (l *linter) names() {
	seen := map[string]*ir.Decl{}
	for _, d := range l.unit.Decls {
		l.parts(d)
		l.shadowed(d)
		if d.Kind == ir.Const || d.Kind == ir.Program || d.Anon {
			continue
		}
		if first := seen[fold(d.Name)]; first != nil {
			l.clash(d, d.Name, first.Name, d.Pos, first.Pos)
		} else {
			seen[fold(d.Name)] = d
		}
	}
}

// parts reports clashes among the names within one declaration.
func (l *linter) parts(d *ir.Decl) {
	seen := map[string]source.Span{}
	add := func(name string, at source.Span) {
		if first, ok := seen[fold(name)]; ok {
			l.clash(d, name, first.Text(), at, first)
		} else {
			seen[fold(name)] = at
		}
	}
	for _, m := range d.Members {
		add(m.Name, m.Pos)
	}
	for f := range d.AllFields() {
		add(f.Name, f.Pos)
	}
}

// clash reports two names that clash, unless the sidecar renames one of them.
func (l *linter) clash(d *ir.Decl, name, other string, at, first source.Span) {
	f := finding(NameClash, at, "%s and %s differ only in case or underscores", name, other).With(first, "the other name")
	for _, r := range l.bind.Renames {
		if r.XDR == name || r.XDR == other || r.XDR == d.Name+"."+name || r.XDR == d.Name+"."+other {
			return // renamed in the sidecar
		}
	}
	l.report(NameClash, d, f)
}

// common returns the type that a name stands for in C headers, and whether it is a known
// one.
func common(name string) (ir.Kind, bool) {
	switch name {
	case "u_int", "uint", "uint32", "uint32_t", "u_int32_t", "u_long", "ulong":
		return ir.Uint, true
	case "int32", "int32_t", "enum_t":
		return ir.Int, true
	case "int64", "int64_t", "longlong_t", "quad_t":
		return ir.Hyper, true
	case "uint64", "uint64_t", "u_int64_t", "u_longlong_t", "u_quad_t":
		return ir.Uhyper, true
	case "bool_t", "boolean":
		return ir.Bool, true
	case "netobj":
		return ir.Opaque, true
	}
	return 0, false
}

// shadowed reports a well-known name that d gives another meaning.
func (l *linter) shadowed(d *ir.Decl) {
	if strings.EqualFold(d.Name, "TRUE") || strings.EqualFold(d.Name, "FALSE") {
		l.report(ShadowedName, d, finding(ShadowedName, d.Pos, "%s is a value of bool", d.Name))
		return
	}
	kind, ok := common(d.Name)
	if ok && (d.Kind != ir.Typedef || d.Type.Underlying().Kind != kind) {
		l.report(ShadowedName, d, finding(ShadowedName, d.Pos, "%s is usually %s, and this declaration differs", d.Name, usual(kind)))
	}
}

// usual returns the words for the type of a name in C headers.
func usual(k ir.Kind) string {
	if k == ir.Opaque {
		return "variable-length opaque"
	}
	return k.Word()
}

// prefixes reports members of an enum that lack the prefix of nearly all others.
func (l *linter) prefixes() {
	for _, d := range l.unit.Decls {
		if d.Kind != ir.Enum || len(d.Members) < 4 {
			continue
		}
		count := map[string]int{}
		for _, m := range d.Members {
			count[head(m.Name)]++
		}
		best := head(d.Members[0].Name)
		for _, m := range d.Members {
			if h := head(m.Name); count[h] > count[best] {
				best = h
			}
		}
		odd := len(d.Members) - count[best]
		if best == "" || odd == 0 || odd > len(d.Members)/4 {
			continue
		}
		for _, m := range d.Members {
			if head(m.Name) != best {
				l.report(Prefix, d, finding(Prefix, m.Pos, "%s does not begin with %s, unlike %d other members of enum %s", m.Name, best, count[best], d.Name))
			}
		}
	}
}

// head returns a name up to and including its first underscore, or "" if it has none.
func head(name string) string { return name[:strings.IndexByte(name, '_')+1] }

// magic reports numbers that are written as a bound in several places.
func (l *linter) magic() {
	type use struct {
		d *ir.Decl
		t *ir.Type
	}
	uses := map[uint64][]use{}
	for _, d := range l.unit.Decls {
		for u := range d.Types() {
			t, n := u.Type, u.Type.Max
			switch t.Kind {
			case ir.FixedOpaque, ir.FixedArray:
				n = t.Len
			case ir.Opaque, ir.String, ir.Array:
				if !t.Bounded {
					continue
				}
			default:
				continue
			}
			if t.LenText == "" && n >= 8 {
				uses[n] = append(uses[n], use{d, t})
			}
		}
	}
	named := map[uint64]*ir.Decl{}
	for _, d := range l.unit.Decls {
		if d.Kind == ir.Const && !d.Value.Neg && named[d.Value.Abs] == nil {
			named[d.Value.Abs] = d
		}
	}
	numbers := make([]uint64, 0, len(uses))
	for n := range uses {
		numbers = append(numbers, n)
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	for _, n := range numbers {
		at := uses[n]
		if len(at) < 2 {
			continue
		}
		var f diag.Diagnostic
		if c := named[n]; c != nil {
			f = finding(MagicNumber, at[0].t.Pos, "the bound %d is written in %d places; the constant %s has this value", n, len(at), c.Name).With(c.Pos, "declared here")
		} else {
			f = finding(MagicNumber, at[0].t.Pos, "the bound %d is written in %d places", n, len(at))
		}
		l.report(MagicNumber, at[0].d, f.With(at[1].t.Pos, "and here"))
	}
}

// unused reports types that no message uses. In a unit without procedures and code points
// there are none.
func (l *linter) unused() {
	for _, d := range l.unit.Decls {
		if _, used := l.reach[d]; !used && !d.Anon && d.Kind != ir.Const && d.Kind != ir.Program {
			l.report(Unused, d, finding(Unused, d.Pos, "no message uses %s %s", d.Kind.Word(), d.Name))
		}
	}
}
