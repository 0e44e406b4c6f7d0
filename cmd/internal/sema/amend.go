package sema

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// amended has the changes of a unit in the units that it includes: the lines "amend" and "replace"
// in its sidecar (ADR 0151).
type amended struct {
	named   map[string]bool          // names in the lines, right or wrong
	changes map[string]*change       // by the name of the declaration
	of      map[*syntax.Def]*ir.Decl // definitions that are copies, and what they are copies of
	copied  map[*syntax.File]bool    // the files that hold the copies
	added   map[*syntax.Member]bool  // members of the copied enums that the originals lack
	checks  []check                  // comparisons that need the constants
	inner   map[*syntax.Def]*ir.Decl // types inside copies, and what they are copies of

	homes    map[*source.File]*unit // of the texts that are copied
	standIns map[*ir.Decl]standIn   // latest copies, by the original
}

// change has the additions of one unit to a declaration, or the declaration that replaces it.
type change struct {
	unit  *unit
	line  *ir.Amend
	of    *ir.Decl      // the original declaration
	adds  []*syntax.Def // an enum, union or program each, with the additions
	whole *syntax.Def   // the declaration that replaces it, or nil
}

// change returns the change of a declaration, or nil.
func (a *amended) change(original *ir.Decl) *change {
	if ch := a.changes[original.Name]; ch != nil && ch.of == original {
		return ch
	}
	return nil
}

// check is an addition whose head must agree with the declaration that it adds to.
type check struct {
	add, to *syntax.Def
}

// amender copies the declarations of included units that a unit amends, and those that contain
// them, into the unit, with the additions. They are then compiled like the unit's own.
type amender struct {
	*findings
	advice *adviser
	u      *unit
	side   *source.File // the sidecar, or nil
	bases  []*unit      // the imports; each after those that it imports itself
	line   map[string]*ir.Amend
	root   map[string]*symbol   // of the lines that are valid: what they amend
	fixed  map[string]bool      // lines that a fix adds
	open   map[ir.DeclKind]bool // kinds of loose lines that have no type yet
}

// amend finds what the unit changes of the units that it includes, and adds the copies to its
// files.
func (c *compiler) amend(u *unit) {
	a := &amender{
		findings: c.findings, advice: c.advice, u: u, side: c.lib.named(u.side.bind.File), bases: u.inOrder(),
		line: map[string]*ir.Amend{}, root: map[string]*symbol{}, fixed: map[string]bool{}, open: map[ir.DeclKind]bool{},
	}
	u.amended = amended{
		named: map[string]bool{}, changes: map[string]*change{}, of: map[*syntax.Def]*ir.Decl{}, copied: map[*syntax.File]bool{},
		added: map[*syntax.Member]bool{}, inner: map[*syntax.Def]*ir.Decl{},
		homes: map[*source.File]*unit{}, standIns: map[*ir.Decl]standIn{},
	}
	for _, b := range a.bases {
		for _, s := range b.scope.syms {
			if s.member == nil && s.decl.Of != nil {
				u.standsIn(s, b)
			}
		}
	}
	for i := range u.side.bind.Amends {
		u.amended.named[u.side.bind.Amends[i].Name] = true
		a.target(&u.side.bind.Amends[i])
	}
	a.redeclared()
	a.constants()
	a.loose()
	a.unused()
	a.copy(a.affected())
}

// inOrder returns the imports in an order in which each comes after those that it imports.
func (u *unit) inOrder() []*unit {
	var out []*unit
	seen := map[*unit]bool{}
	var visit func(*unit)
	visit = func(i *unit) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, b := range i.imports {
			visit(b)
		}
		out = append(out, i)
	}
	for _, i := range u.imports {
		visit(i)
	}
	return out
}

// target finds what a line amends.
func (a *amender) target(l *ir.Amend) {
	word := "amend"
	if l.Replace {
		word = "replace"
	}
	s := a.resolve(a.u, l.Name, l.At, func(s *symbol) bool { return !s.isConst() })
	switch {
	case s == nil:
		a.unknown(l, word)
		return
	case s.member != nil || l.Replace && s.decl.Kind == ir.Const || s.decl.Inner:
		what := kindName(s.decl.Kind)
		switch {
		case s.member != nil:
			what = "member of enum " + s.decl.Name
		case s.decl.Inner:
			what += " inside another declaration"
		}
		d := diag.New(diag.AmendKind, l.At, "%s is a %s, expected a type or program at top level", l.Name, what).With(s.span, "declared here")
		if s.isConst() {
			d = d.Helpf("an included constant keeps its value: declare the types that use it again, with another constant, and replace them")
		}
		a.report(d)
		return
	case !l.Replace && s.decl.Kind != ir.Enum && s.decl.Kind != ir.Union && s.decl.Kind != ir.Program:
		d := diag.New(diag.AmendKind, l.At, "%s is a %s, and only enums, unions and programs can have additions", l.Name, kindName(s.decl.Kind)).With(s.span, "declared here")
		under := underlying(s.decl.Type)
		switch {
		case s.decl.Kind == ir.Typedef && under != nil && under.Kind == ir.Ref && (under.Ref.Kind == ir.Enum || under.Ref.Kind == ir.Union):
			d = d.Helpf("amend what it stands for: amend %s", under.Ref.Name)
		default:
			d = d.Helpf("declare the whole %s in the unit, and write replace %s here", kindName(s.decl.Kind), l.Name)
		}
		a.report(d)
		return
	}
	a.line[l.Name] = l
	a.root[l.Name] = s
	a.u.amended.changes[l.Name] = &change{unit: a.u, line: l, of: s.decl.Original()}
}

// unknown reports a line whose name no included unit declares.
func (a *amender) unknown(l *ir.Amend, word string) {
	if a.u.partial {
		return
	}
	d := diag.New(diag.AmendUnknown, l.At, "no included unit declares %s", l.Name)
	for _, f := range a.u.files {
		for _, def := range f.Defs {
			if def.Name.Name == l.Name {
				a.report(d.With(def.Name.Span, "the unit itself declares it").Helpf("remove the line; or include the unit whose %s this one changes", l.Name))
				return
			}
		}
	}
	if len(a.u.imports) == 0 {
		a.report(d.Helpf("write #include \"UNIT/FILE.x\" into the .x file, or import UNIT/FILE.x into the sidecar, for the file that declares it"))
		return
	}
	var names []string
	for _, s := range a.u.visible() {
		if s.member == nil && s.decl.Kind != ir.Const {
			names = append(names, s.name)
		}
	}
	if near, ok := nearest(l.Name, names); ok && a.advice.may() {
		d = d.With(a.u.lookup(near).span, "declared here").Helpf("did you mean %s %s?", word, near)
	}
	a.report(d)
}

// redeclared takes the unit's definitions of names that it amends or replaces.
func (a *amender) redeclared() {
	for _, f := range a.u.files {
		kept := f.Defs[:0:0]
		for _, d := range f.Defs {
			ch := a.u.amended.changes[d.Name.Name]
			switch {
			case ch == nil:
				kept = append(kept, d)
			case ch.line.Replace:
				kept = append(kept, d)
				if ch.whole == nil {
					ch.whole = d
					a.u.amended.of[d] = a.root[d.Name.Name].decl.Original()
				}
			case d.Broken: // its fault was reported
				ch.adds = append(ch.adds, &syntax.Def{Kind: d.Kind, Broken: true})
			case declKind(d.Kind) != a.root[d.Name.Name].decl.Kind:
				a.report(diag.New(diag.AmendKind, d.Name.Span, "%s is declared as %s, and adds to the %s %[1]s", d.Name.Name, d.Kind, kindName(a.root[d.Name.Name].decl.Kind)).
					With(a.root[d.Name.Name].span, "declared here").Helpf("declare it as %s, or write replace %s in the sidecar", kindName(a.root[d.Name.Name].decl.Kind), d.Name.Name))
				ch.adds = append(ch.adds, &syntax.Def{Kind: d.Kind, Broken: true})
			default:
				ch.adds = append(ch.adds, a.additions(ch, d))
			}
		}
		f.Defs = kept
	}
}

// constants takes the constants of the unit that become members of an enum.
func (a *amender) constants() {
	wanted := map[string]ir.AmendConst{}
	enum := map[string]string{}
	for i := range a.u.side.bind.Amends {
		l := &a.u.side.bind.Amends[i]
		s := a.root[l.Name]
		for _, c := range l.Consts {
			switch old, dup := enum[c.Name]; {
			case s == nil:
			case s.decl.Kind != ir.Enum:
				a.report(diag.New(diag.AmendKind, c.Pos, "%s is a %s, and only an enum takes constants", l.Name, kindName(s.decl.Kind)).With(s.span, "declared here"))
			case dup:
				a.report(diag.New(diag.BindDuplicate, c.Pos, "constant %s becomes a member of %s already", c.Name, old).With(wanted[c.Name].Pos, "by this line"))
			default:
				wanted[c.Name], enum[c.Name] = c, l.Name
			}
		}
	}
	for _, f := range a.u.files {
		f.Defs = slices.DeleteFunc(f.Defs, func(d *syntax.Def) bool {
			c, ok := wanted[d.Name.Name]
			if !ok || d.Kind != syntax.Const {
				return false
			}
			ch := a.u.amended.changes[enum[c.Name]]
			value := d.Value
			m := &syntax.Member{Name: d.Name, Value: &value, Doc: d.Doc, Tail: d.Tail}
			ch.adds = append(ch.adds, &syntax.Def{Kind: syntax.Enum, Span: d.Span, Broken: d.Broken, Members: []*syntax.Member{m}})
			delete(wanted, c.Name)
			return true
		})
	}
	for i := range a.u.side.bind.Amends {
		for _, c := range a.u.side.bind.Amends[i].Consts {
			if _, left := wanted[c.Name]; left && enum[c.Name] == a.u.side.bind.Amends[i].Name {
				a.report(diag.New(diag.AmendUnknown, c.Pos, "the unit declares no constant %s", c.Name).Helpf("declare it: const %s = VALUE;", c.Name))
			}
		}
	}
}

// unused reports lines by which nothing changes: neither the unit nor two included units together
// change the declaration.
func (a *amender) unused() {
	for _, f := range a.u.files {
		a.open[ir.Program] = a.open[ir.Program] || f.Outside
	}
	for i := range a.u.side.bind.Amends {
		l := &a.u.side.bind.Amends[i]
		ch := a.u.amended.changes[l.Name]
		switch {
		case ch == nil || ch.line != l || a.open[a.root[l.Name].decl.Kind]:
		case l.Replace && ch.whole == nil:
			a.report(diag.New(diag.AmendUnknown, l.At, "the unit does not declare %s", l.Name).With(a.root[l.Name].span, "declared here").
				Helpf("declare the %s that replaces it", kindName(a.root[l.Name].decl.Kind)))
			delete(a.u.amended.changes, l.Name)
		case !l.Replace && len(ch.adds) == 0 && !slices.ContainsFunc(a.bases, func(b *unit) bool { return b.amended.change(ch.of) != nil }):
			a.report(diag.New(diag.AmendUnknown, l.At, "the unit adds nothing to %s", l.Name).With(a.root[l.Name].span, "declared here").Helpf("%s", additions(a.root[l.Name].decl)))
		}
	}
}

// additions says how the additions to a declaration are written.
func additions(d *ir.Decl) string {
	form := "case VALUE: TYPE name;"
	switch d.Kind {
	case ir.Enum:
		form = "MEMBER = VALUE"
	case ir.Program:
		return "declare program " + d.Name + " with the versions and procedures to add, or remove the line"
	}
	return "write what to add as " + kindName(d.Kind) + " " + d.Name + " { ... }, or as lines " + form + " below a comment /* In " + d.Name + ": */; or remove the line"
}
