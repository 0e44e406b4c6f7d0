package sema

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// affected returns the originals of the declarations that the unit copies: it amends them, or they
// contain an amended one. A type with an enum that is open in its unit accepts the new members, and
// is not copied for them.
func (a *amender) affected() map[*ir.Decl]bool {
	found := map[*ir.Decl]bool{}
	if len(a.u.amended.changes) == 0 {
		return found
	}
	users, versions := map[*ir.Decl][]*ir.Decl{}, map[*ir.Decl][]*ir.Decl{}
	for _, b := range a.bases {
		for _, d := range b.decls {
			if !d.Inner {
				versions[d.Original()] = append(versions[d.Original()], d)
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
	add := func(d *ir.Decl) {
		switch original := d.Original(); {
		case !d.Inner && !found[original]:
			found[original] = true
			for _, d := range versions[original] {
				if d.Kind != ir.Enum || !d.Open {
					queue = append(queue, d)
				}
			}
		case d.Inner && !inner[d]:
			inner[d] = true
			queue = append(queue, d)
		}
	}
	for _, ch := range a.u.amended.changes {
		add(ch.of)
	}
	for _, b := range a.bases {
		for _, d := range b.decls {
			if a.stale(d) {
				add(d)
			}
		}
	}
	for len(queue) > 0 {
		d := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, by := range users[d] {
			add(by)
		}
	}
	return found
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

// sees reports whether an included declaration is the one that the unit uses, and has no copy
// that is used in its place.
func (a *amender) sees(d *ir.Decl) bool {
	by, ok := a.u.amended.standIns[d.Original()]
	return !ok || by.sym.decl == d
}

// copy adds copies of some declarations to the unit's files.
func (a *amender) copy(originals map[*ir.Decl]bool) {
	var files []*syntax.File
	done := map[string]*symbol{}
	for _, b := range a.bases {
		f := &syntax.File{}
		for _, s := range b.scope.syms {
			if s.member != nil || s.def == nil || s.decl.Inner || s.decl.Of != nil || !originals[s.decl] {
				continue
			}
			if old := done[s.name]; old != nil {
				a.report(diag.New(diag.AmendConflict, a.u.side.bind.Amends[0].Pos, "two declarations named %s must be copied, and a unit has only one with that name", s.name).
					With(old.span, "declared here").With(s.span, "and here").
					Helpf("amend each of the two units in a separate unit"))
				continue
			}
			done[s.name] = s
			if d := a.merged(b, s); d != nil {
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
	a.ambiguous(originals)
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
func (a *amender) merged(b *unit, s *symbol) *syntax.Def {
	own := a.u.amended.change(s.decl)
	if own != nil && own.whole != nil {
		return nil
	}
	whole := part{b, s.def}
	var adds []part
	var by *change // that replaces it
	for _, i := range a.bases {
		ch := i.amended.change(s.decl)
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
	m := newMerger(a, whole)
	a.u.amended.homes[whole.def.Span.File] = whole.unit
	for _, p := range adds {
		if p.def.Broken {
			m.def.Broken = true
			continue
		}
		if p.unit != a.u {
			a.u.amended.homes[p.def.Span.File] = p.unit
		}
		m.add(p)
	}
	return m.finish()
}

// ambiguous reports names in the unit and its copies that mean two types: two included units have
// amended them, and the unit itself has not.
func (a *amender) ambiguous(copied map[*ir.Decl]bool) {
	by := map[*ir.Decl]*symbol{}
	clash := map[*ir.Decl]*symbol{}
	for _, b := range a.bases {
		for _, s := range b.scope.syms {
			original := s.decl.Original()
			switch old := by[original]; {
			case s.member != nil || s.decl.Of == nil || s.decl.Inner || copied[original]:
			case old == nil || builds(b, old):
				by[original] = s
			default:
				clash[original] = s
			}
		}
	}
	if len(clash) == 0 {
		return
	}
	for _, f := range a.u.files {
		for _, d := range f.Defs {
			d.Walk(func(t *syntax.Type) {
				if t.Kind != syntax.Named {
					return
				}
				used := a.u.home(t.Span).lookup(t.Name)
				if used == nil {
					return
				}
				original := used.decl.Original()
				s := clash[original]
				if s == nil {
					return
				}
				delete(clash, original)
				at := t.Span
				if a.u.amended.copied[f] {
					at = a.u.side.bind.Amends[0].Pos
				}
				r := diag.New(diag.AmendConflict, at, "units %s and %s both amend %s, or what it contains", by[original].decl.Import.Unit, s.decl.Import.Unit, t.Name)
				if at != t.Span {
					r = r.With(t.Span, "used here")
				}
				a.report(r.Helpf("to amend with both, %s", a.together(a.u.sidecar(f.Source))))
			}, func(*syntax.Value) {}, func(*syntax.Def) {})
		}
	}
}

// together says how the unit amends with all included units: by the lines for what several amend,
// or else by one line for what one of them changes.
func (a *amender) together(sidecar string) string {
	if lines := a.shared(); len(lines) > 0 {
		return "add to the sidecar " + sidecar + " the line \"" + strings.Join(lines, "\" and the line \"") + "\""
	}
	var amended, replaced []string
	for _, b := range a.bases {
		for name, ch := range b.amended.changes {
			if ch.whole != nil {
				replaced = append(replaced, name)
			} else {
				amended = append(amended, name)
			}
		}
	}
	if len(amended) > 0 {
		return "add to the sidecar " + sidecar + " the line \"amend " + slices.Min(amended) + "\""
	}
	name := slices.Min(replaced)
	return "declare " + name + " here as the unit does that replaces it, and add to the sidecar " + sidecar + " the line \"replace " + name + "\""
}

// shared returns the lines for what several included units amend.
func (a *amender) shared() []string {
	n, word := map[*ir.Decl]int{}, map[*ir.Decl]string{}
	for _, b := range a.bases {
		for _, ch := range b.amended.changes {
			n[ch.of]++
			switch {
			case ch.whole != nil: // the unit must declare both together
				word[ch.of] = "replace "
			case word[ch.of] == "":
				word[ch.of] = "amend "
			}
		}
	}
	var lines []string
	for of, units := range n {
		if units > 1 {
			lines = append(lines, word[of]+of.Name)
		}
	}
	slices.Sort(lines)
	return lines
}

// builds reports whether unit b imports the unit of a symbol.
func builds(b *unit, s *symbol) bool {
	return slices.ContainsFunc(b.imports, func(i *unit) bool { return i.imp == s.decl.Import })
}
