package sema

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// affected returns the names of the declarations that the unit copies: it amends them, or they
// contain an amended one. A type with an enum that is open in its unit accepts the new members, and
// is not copied for them.
func (a *amender) affected() map[string]bool {
	names := map[string]bool{}
	if len(a.u.amended.changes) == 0 {
		return names
	}
	users, versions := map[*ir.Decl][]*ir.Decl{}, map[string][]*ir.Decl{}
	for _, b := range a.bases {
		for _, d := range b.decls {
			if !d.Inner {
				versions[d.Name] = append(versions[d.Name], d)
			}
			for use := range d.Types() {
				if use.Type.Ref != nil {
					users[use.Type.Ref] = append(users[use.Type.Ref], d)
				}
			}
		}
	}
	var queue []*ir.Decl
	inner := map[*ir.Decl]bool{}
	add := func(name string) {
		if names[name] {
			return
		}
		names[name] = true
		for _, d := range versions[name] {
			if d.Kind != ir.Enum || !d.Open {
				queue = append(queue, d)
			}
		}
	}
	for name := range a.u.amended.changes {
		add(name)
	}
	for _, b := range a.bases {
		for _, d := range b.decls {
			switch {
			case !a.stale(d):
			case !d.Inner:
				add(d.Name)
			case !inner[d]:
				inner[d] = true
				queue = append(queue, d)
			}
		}
	}
	for len(queue) > 0 {
		d := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, by := range users[d] {
			switch {
			case !by.Inner:
				add(by.Name)
			case !inner[by]:
				inner[by] = true
				queue = append(queue, by)
			}
		}
	}
	return names
}

// stale reports whether a declaration contains one that another included unit has changed. The two
// extensions do not know each other.
func (a *amender) stale(d *ir.Decl) bool {
	if !d.Inner && !a.sees(d) {
		return false
	}
	for use := range d.Types() {
		if r := use.Type.Ref; r != nil && !a.sees(r) && !r.Inner && (r.Kind != ir.Enum || !r.Open) {
			return true
		}
	}
	return false
}

// sees reports whether the name of an included declaration means that one in the unit.
func (a *amender) sees(d *ir.Decl) bool {
	s := a.u.lookup(d.Name)
	return s == nil || s.decl == d
}

// copy adds copies of the declarations with some names to the unit's files.
func (a *amender) copy(names map[string]bool) {
	var files []*syntax.File
	done := map[string]bool{}
	for _, b := range a.bases {
		f := &syntax.File{}
		for _, s := range b.scope.syms {
			if s.member != nil || s.def == nil || s.decl.Inner || s.decl.Of != nil || !names[s.name] || done[s.name] {
				continue
			}
			done[s.name] = true
			if d := a.merged(b, s, names); d != nil {
				a.u.amended.of[d] = s.decl
				f.Defs = append(f.Defs, d)
				f.Source = s.def.Span.File
			}
		}
		if len(f.Defs) > 0 {
			a.u.amended.copied[f] = true
			files = append(files, f)
		}
	}
	a.u.files = append(files, a.u.files...)
	a.ambiguous(names)
	for _, b := range a.bases {
		for body, s := range b.scope.inner {
			if s.decl.Of == nil {
				a.u.amended.inner[body] = s.decl
			}
		}
	}
}

// part is a definition, or the additions to one, and the unit that has it.
type part struct {
	unit *unit
	def  *syntax.Def
}

// merged returns the definition of a symbol with what the included units and the unit itself add.
// It returns nil if the unit replaces the definition.
func (a *amender) merged(b *unit, s *symbol, names map[string]bool) *syntax.Def {
	own := a.u.amended.changes[s.name]
	if own != nil && own.whole != nil {
		return nil
	}
	whole := part{b, s.def}
	var adds []part
	var by *change // that replaces it
	for _, i := range a.bases {
		ch := i.amended.changes[s.name]
		switch {
		case ch == nil:
		case ch.whole == nil:
			for _, d := range ch.adds {
				adds = append(adds, part{i, d})
			}
		case by != nil && !slices.Contains(i.imports, by.unit):
			at := ch.whole.Name.Span
			if own != nil {
				at = own.line.At
			}
			a.report(diag.New(diag.AmendConflict, at, "units %s and %s both replace %s", by.unit.name, i.name, s.name).
				With(by.whole.Name.Span, "by this").With(ch.whole.Name.Span, "and by this").
				Helpf("declare the %s with what both have, and write replace %s in the sidecar", kindName(s.decl.Kind), s.name))
		default:
			by = ch
			whole = part{i, ch.whole}
			adds = slices.DeleteFunc(adds, func(p part) bool { return slices.Contains(i.imports, p.unit) })
		}
	}
	if own != nil {
		for _, d := range own.adds {
			adds = append(adds, part{a.u, d})
		}
	}
	m := newMerger(a, whole.def)
	a.foreign(whole, names)
	for _, p := range adds {
		if p.def.Broken {
			m.def.Broken = true
			continue
		}
		if p.unit != a.u {
			a.foreign(p, names)
		}
		m.add(p.def)
	}
	return m.finish()
}

// foreign reports the names in a part of an included unit that mean something else here, because
// another included unit declares them too.
func (a *amender) foreign(p part, names map[string]bool) {
	one := func(name string) {
		there, here := p.unit.lookup(name), a.u.lookup(name)
		if there == nil || here == nil || names[name] || there == here || names[there.decl.Name] || sameTypedef(there, here) ||
			there.decl.Original() == here.decl.Original() {
			return
		}
		a.report(diag.New(diag.AmendConflict, here.span, "two included units declare %s, and %s needs both", name, a.u.name).
			With(there.span, "the other is here").Helpf("rename one of the two: an extension needs names that the other does not have"))
	}
	p.def.Walk(func(t *syntax.Type) {
		if t.Kind == syntax.Named {
			one(t.Name)
		}
	}, func(v *syntax.Value) {
		if v.Name {
			one(v.Text)
		}
	}, func(*syntax.Def) {})
}

// ambiguous reports names in the unit and its copies that mean two types: two included units have
// amended them, and the unit itself has not.
func (a *amender) ambiguous(names map[string]bool) {
	by := map[string]*symbol{}
	clash := map[string]*symbol{}
	for _, b := range a.bases {
		for d := range b.amended.of {
			s := b.scope.names[d.Name.Name]
			switch old := by[d.Name.Name]; {
			case s == nil || names[d.Name.Name]:
			case old == nil || builds(b, old):
				by[d.Name.Name] = s
			default:
				clash[d.Name.Name] = s
			}
		}
	}
	if len(clash) == 0 {
		return
	}
	for _, f := range a.u.files {
		for _, d := range f.Defs {
			d.Walk(func(t *syntax.Type) {
				s := clash[t.Name]
				if s == nil || t.Kind != syntax.Named {
					return
				}
				delete(clash, t.Name)
				at := t.Span
				if a.u.amended.copied[f] {
					at = a.u.side.bind.Amends[0].Pos
				}
				r := diag.New(diag.AmendConflict, at, "units %s and %s both amend %s, or what it contains", by[t.Name].decl.Import.Unit, s.decl.Import.Unit, t.Name)
				if at != t.Span {
					r = r.With(t.Span, "used here")
				}
				a.report(r.Helpf("to amend with both, add to the sidecar %s the line \"%s\"", a.u.sidecar(f.Source), strings.Join(a.shared(), "\" and the line \"")))
			}, func(*syntax.Value) {}, func(*syntax.Def) {})
		}
	}
}

// shared returns the lines for what several included units amend.
func (a *amender) shared() []string {
	n, word := map[string]int{}, map[string]string{}
	for _, b := range a.bases {
		for name, ch := range b.amended.changes {
			n[name]++
			switch {
			case ch.whole != nil: // the unit must declare both together
				word[name] = "replace "
			case word[name] == "":
				word[name] = "amend "
			}
		}
	}
	var lines []string
	for name, units := range n {
		if units > 1 {
			lines = append(lines, word[name]+name)
		}
	}
	slices.Sort(lines)
	return lines
}

// builds reports whether unit b imports the unit of a symbol.
func builds(b *unit, s *symbol) bool {
	return slices.ContainsFunc(b.imports, func(i *unit) bool { return i.imp == s.decl.Import })
}
