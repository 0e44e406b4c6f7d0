package lint

import (
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// fold is a name without what other languages drop.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// names looks for names that meet, among types, fields and members, and for
// names that others use.
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

// parts looks at the names within one declaration.
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
	if d.Disc != nil {
		add(d.Disc.Name, d.Disc.Pos)
	}
	fields(d, func(f *ir.Field) { add(f.Name, f.Pos) })
}

func (l *linter) clash(d *ir.Decl, name, other string, at, first source.Span) {
	f := finding(NameClash, at, "%s and %s differ in case or underscores only", name, other).With(first, "the other is here")
	for _, r := range l.bind.Renames {
		if r.XDR == name || r.XDR == other || r.XDR == d.Name+"."+name || r.XDR == d.Name+"."+other {
			return // the sidecar keeps them apart
		}
	}
	l.report(NameClash, d, f)
}

// common returns the type that a name stands for in C headers.
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

// shadowed looks for a well-known name with another meaning.
func (l *linter) shadowed(d *ir.Decl) {
	if strings.EqualFold(d.Name, "TRUE") || strings.EqualFold(d.Name, "FALSE") {
		l.report(ShadowedName, d, finding(ShadowedName, d.Pos, "%s is a value of bool", d.Name))
		return
	}
	kind, ok := common(d.Name)
	if ok && (d.Kind != ir.Typedef || d.Type.Underlying().Kind != kind) {
		l.report(ShadowedName, d, finding(ShadowedName, d.Pos, "%s is no %s here", d.Name, usual(kind)))
	}
}

func usual(k ir.Kind) string {
	if k == ir.Opaque {
		return "variable-length opaque"
	}
	return k.Word()
}

// prefixes looks for the one member that does not begin as the others do.
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
				l.report(Prefix, d, finding(Prefix, m.Pos, "%s does not begin with %s as %d members of enum %s do", m.Name, best, count[best], d.Name))
			}
		}
	}
}

// head is a name up to its first underscore, that included.
func head(name string) string { return name[:strings.IndexByte(name, '_')+1] }

// magic looks for bounds written as the same number in several places.
func (l *linter) magic() {
	type use struct {
		d *ir.Decl
		t *ir.Type
	}
	uses := map[uint64][]use{}
	for _, d := range l.unit.Decls {
		types(d, func(t *ir.Type, _ string) {
			n := t.Max
			switch t.Kind {
			case ir.FixedOpaque, ir.FixedArray:
				n = t.Len
			case ir.Opaque, ir.String, ir.Array:
				if !t.Bounded {
					return
				}
			default:
				return
			}
			if t.LenText == "" && n >= 8 {
				uses[n] = append(uses[n], use{d, t})
			}
		})
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
			f = finding(MagicNumber, at[0].t.Pos, "the bound %d stands in %d places; %s has this value", n, len(at), c.Name).With(c.Pos, "declared here")
		} else {
			f = finding(MagicNumber, at[0].t.Pos, "the bound %d stands in %d places", n, len(at))
		}
		l.report(MagicNumber, at[0].d, f.With(at[1].t.Pos, "and here"))
	}
}

// unused looks for types that nothing leads to, in a unit with procedures or
// code points.
func (l *linter) unused() {
	for _, d := range l.unit.Decls {
		if _, held := l.reach[d]; !held && !d.Anon && d.Kind != ir.Const && d.Kind != ir.Program {
			l.report(Unused, d, finding(Unused, d.Pos, "%s %s is used by no message", word(d), d.Name))
		}
	}
}
