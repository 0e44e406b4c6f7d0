package sema

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// This file finds the declaration that a name means. In this order: the unit's own; the included
// unit's, if only one declares it; the one that a line "from" in the sidecar chooses. A name in a
// copied declaration means the same as in the unit that has the text (ADR 0168).

// candidate is a declaration that a name can mean in a unit: an included unit's, or the copy that
// is used in its place.
type candidate struct {
	sym   *symbol
	was   *symbol // as the included unit has it
	units []*unit // that have the declaration, or copy it
}

// standIn is a copy that is used in the place of the original, and the unit that has the copy.
type standIn struct {
	sym  *symbol
	unit *unit
}

// home returns the unit whose text a place is in: the unit itself, or an included one whose
// declaration is copied.
func (u *unit) home(at source.Span) *unit {
	if h := u.amended.homes[at.File]; h != nil {
		return h
	}
	return u
}

// own returns what the unit's own text declares by a name, or nil.
func (u *unit) own(name string) *symbol {
	if s := u.scope.names[name]; s != nil && u.home(s.span) == u {
		return s
	}
	return nil
}

// current returns the symbol that the unit uses in the place of an included one: itself, or the one
// in the latest copy. It returns nil for a member that a copy lacks.
func (u *unit) current(s *symbol) *symbol {
	by, ok := u.amended.standIns[s.decl.Original()]
	switch {
	case !ok:
		return s
	case s.member == nil:
		return by.sym
	}
	if m := by.unit.scope.names[s.name]; m != nil && m.decl == by.sym.decl {
		return m
	}
	return nil
}

// standsIn enters a copy. It takes the place of the original, and of the copies in the units that
// its unit includes.
func (u *unit) standsIn(s *symbol, of *unit) {
	original := s.decl.Original()
	old, ok := u.amended.standIns[original]
	if !ok || of == u || slices.Contains(of.imports, old.unit) {
		u.amended.standIns[original] = standIn{s, of}
	}
}

// lookup returns the symbol with a name, or nil. If included units differ about it, lookup returns
// the first: resolve reports that where the name is used.
func (u *unit) lookup(name string) *symbol {
	if s := u.own(name); s != nil {
		return s
	}
	if all := u.meanings(name, nil); len(all) > 0 {
		return all[0].sym
	}
	return nil
}

// meanings returns what a name that the unit does not declare itself can mean, in the order of the
// includes. Where some fit, the others do not count.
func (u *unit) meanings(name string, fits func(*symbol) bool) []candidate {
	var all []candidate
	for _, i := range append(u.imports[:len(u.imports):len(u.imports)], u) {
		was := i.scope.names[name]
		if was == nil {
			continue
		}
		s := u.current(was)
		if s == nil {
			continue
		}
		same := func(m candidate) bool { return m.sym == s || sameMeaning(m.was, was) }
		if k := slices.IndexFunc(all, same); k >= 0 {
			all[k].units = append(all[k].units, i)
			continue
		}
		all = append(all, candidate{sym: s, was: was, units: []*unit{i}})
	}
	all = preferred(all, func(m candidate) bool { return !m.sym.decl.Anon })
	if fits != nil {
		all = preferred(all, func(m candidate) bool { return fits(m.sym) })
	}
	return preferred(all, func(m candidate) bool {
		from := u.side.chosen(m.sym)
		return slices.ContainsFunc(m.units, func(i *unit) bool { return i.name == from })
	})
}

// preferred returns the meanings that have a property, or all if none has it.
func preferred(all []candidate, has func(candidate) bool) []candidate {
	if len(all) < 2 {
		return all
	}
	var out []candidate
	for _, m := range all {
		if has(m) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// sameMeaning reports whether it does not matter which of two declarations a name means: they are
// typedefs of the same type, or constants with the same value.
func sameMeaning(a, b *symbol) bool {
	if a.isConst() && b.isConst() {
		return a.state != resolved || b.state != resolved || a.value.Neg == b.value.Neg && a.value.Abs == b.value.Abs
	}
	return sameTypedef(a, b)
}

// resolve returns what a name means at a place, or nil if it is not declared. It reports a name
// that several included units declare.
func (f *findings) resolve(u *unit, name string, at source.Span, fits func(*symbol) bool) *symbol {
	s := f.meaning(u, name, at, fits)
	f.use(s, at)
	return s
}

// meaning is resolve without the record of the use.
func (f *findings) meaning(u *unit, name string, at source.Span, fits func(*symbol) bool) *symbol {
	if home := u.home(at); home != u {
		if s := f.meaning(home, name, at, fits); s != nil {
			return u.current(s)
		}
		return nil
	}
	if s := u.own(name); s != nil {
		return s
	}
	all := u.meanings(name, fits)
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 && !u.undeclared.reported[name] {
		u.undeclared.reported[name] = true
		f.report(u.ambiguity(name, at, all))
	}
	return all[0].sym
}

// ambiguity is the finding for a name with several meanings.
func (u *unit) ambiguity(name string, at source.Span, all []candidate) diag.Diagnostic {
	d := diag.New(diag.AmbiguousName, at, "%s is declared by the included units %s and %s, and the declarations differ", name, all[0].units[0].name, all[1].units[0].name)
	lines := ""
	for i, m := range all {
		d = d.With(m.sym.span, "declared here by unit "+m.units[0].name)
		if i > 0 {
			lines += ", or "
		}
		lines += "\"from " + m.units[0].name + " " + m.chosenBy() + "\""
	}
	return d.Helpf("add to the sidecar %s the line that says which one is meant: %s", u.sidecar(at.File), lines)
}

// chosenBy returns the name that a line "from" chooses a meaning by: for a member, its enum's.
func (m candidate) chosenBy() string {
	if m.sym.member != nil && !m.sym.decl.Anon {
		return m.sym.decl.Name
	}
	return m.sym.name
}

// chosen returns the unit that the lines "from" choose for the name of a symbol, or "". The name of
// an enum stands for its members too.
func (s *sidecar) chosen(sym *symbol) string {
	if w, ok := s.from[sym.name]; ok {
		return w.Text
	}
	if sym.member != nil {
		return s.from[sym.decl.Name].Text
	}
	return ""
}

// checkFrom reports lines "from" with a unit that is not included, or a name that it does not
// declare.
func (c *compiler) checkFrom(u *unit) {
	for _, w := range u.side.fromNames {
		from := u.side.from[w.Text]
		var named []*unit
		var units, names []string
		for _, i := range u.imports {
			units = append(units, i.name)
			if i.name == from.Text {
				named = append(named, i)
			}
		}
		switch {
		case u.partial:
			return
		case len(named) == 0:
			c.report(c.advice.orOneOf(diag.New(diag.BindUnknownName, from.Pos, "no unit %s is included", from.Text), from.Text, units))
		case len(named) > 1:
			c.report(diag.New(diag.BindDuplicate, from.Pos, "two included units have the name %s", from.Text).
				Helpf("rename the folder of one of them: a unit has the name of its folder"))
		case named[0].scope.names[w.Text] == nil && len(named[0].numbers[w.Text]) == 0:
			for _, s := range named[0].scope.syms {
				names = append(names, s.name)
			}
			c.report(c.advice.orOneOf(diag.New(diag.BindUnknownName, w.Pos, "unit %s does not declare %s", from.Text, w.Text), w.Text, names))
		}
	}
}
