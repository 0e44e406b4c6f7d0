package sema

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// merger adds members, arms, versions and procedures to a copy of a definition.
type merger struct {
	*findings
	u        *unit
	def      *syntax.Def
	members  map[string]*syntax.Member
	arms     map[armKey]int // places in def.Arms of the arms that were there
	more     []*syntax.Arm  // arms to add
	versions map[string]int
	fresh    bool // def's slices are its own
}

// armKey is equal for two arms with the same name and data.
type armKey struct {
	name, typ string
	decl      *ir.Decl // the included declaration that typ means
	star      bool
	shape     syntax.Shape
	bound     string // a number, if an included unit declares it
}

// keyOf returns the key of an arm in unit u's text, and whether it has one: an arm without data can
// be there twice.
func keyOf(u *unit, a *syntax.Arm) (armKey, bool) {
	if len(a.Decls) != 1 || a.Decls[0].Name.Name == "" {
		return armKey{}, false
	}
	d := a.Decls[0]
	k := armKey{name: d.Name.Name, typ: d.Type.Name, star: d.Star, shape: d.Shape}
	if s := u.lookup(k.typ); s != nil {
		k.decl = s.decl.Original()
	}
	if d.Bound != nil {
		k.bound = d.Bound.Text
		if s := u.lookup(k.bound); s != nil {
			k.bound = show(s.value)
		}
	}
	return k, d.Type.Kind != syntax.Inline
}

func newMerger(a *amender, whole part) *merger {
	def := whole.def
	m := &merger{findings: a.findings, u: a.u, members: map[string]*syntax.Member{}, arms: map[armKey]int{}, versions: map[string]int{}}
	own := *def
	own.Members, own.Arms, own.Versions = slices.Clone(def.Members), slices.Clone(def.Arms), slices.Clone(def.Versions)
	m.def = &own
	for _, x := range own.Members {
		m.members[x.Name.Name] = x
	}
	for i, x := range own.Arms {
		if k, ok := keyOf(whole.unit, x); ok {
			m.arms[k] = i
		}
	}
	for i, x := range own.Versions {
		m.versions[x.Name.Name] = i
	}
	return m
}

// add adds what an enum, union or program has.
func (m *merger) add(p part) {
	d := p.def
	if d.Kind == syntax.Program || d.Disc != nil && d.Name.Name == m.def.Name.Name {
		m.u.amended.checks = append(m.u.amended.checks, check{add: d, to: m.def})
	}
	for _, x := range d.Members {
		if old := m.members[x.Name.Name]; old != nil {
			m.report(diag.New(diag.AmendConflict, x.Name.Span, "enum %s has a member %s already", m.def.Name.Name, x.Name.Name).With(old.Name.Span, "declared here").
				Helpf("remove it here; if this enum is the whole one, write replace %s in the sidecar", m.def.Name.Name))
			continue
		}
		m.members[x.Name.Name] = x
		m.u.amended.added[x] = true
		m.def.Members = append(m.def.Members, x)
	}
	for _, x := range d.Arms {
		m.arm(p.unit, x)
	}
	for _, v := range d.Versions {
		i, ok := m.versions[v.Name.Name]
		if !ok {
			m.versions[v.Name.Name] = len(m.def.Versions)
			m.def.Versions = append(m.def.Versions, v)
			continue
		}
		own := *m.def.Versions[i]
		own.Procs = append(slices.Clone(own.Procs), v.Procs...)
		m.def.Versions[i] = &own
	}
}

// arm adds an arm. If the union has an arm with the same name and data, its labels select that one.
func (m *merger) arm(u *unit, x *syntax.Arm) {
	k, ok := keyOf(u, x)
	if i, have := m.arms[k]; ok && have {
		own := *m.def.Arms[i]
		own.Labels = append(slices.Clone(own.Labels), x.Labels...)
		own.Default = append(slices.Clone(own.Default), x.Default...)
		m.def.Arms[i] = &own
		return
	}
	m.more = append(m.more, x)
}

// finish returns the definition. New arms come before a default that is the last arm.
func (m *merger) finish() *syntax.Def {
	arms := m.def.Arms
	if n := len(arms); n > 0 && len(arms[n-1].Default) > 0 {
		m.def.Arms = slices.Concat(arms[:n-1], m.more, arms[n-1:])
	} else {
		m.def.Arms = slices.Concat(arms, m.more)
	}
	return m.def
}

// checkAmended reports additions with another head than the declaration: a program with another
// number, a union with another discriminant.
func (r *resolver) checkAmended() {
	for _, c := range r.u.amended.checks {
		switch c.add.Kind {
		case syntax.Program:
			a, ok1 := r.values.eval(c.add.Value)
			b, ok2 := r.values.eval(c.to.Value)
			if ok1 && ok2 && show(a.Value) != show(b.Value) {
				r.report(diag.New(diag.AmendConflict, c.add.Value.Span, "program %s has the number %s here, and %s where it is declared", c.to.Name.Name, show(a.Value), show(b.Value)).
					With(c.to.Value.Span, "declared here"))
			}
			r.checkVersions(c)
		case syntax.Union:
			a, b := c.add.Disc, c.to.Disc
			if b != nil && (a.Type.Name != b.Type.Name || a.Name.Name != b.Name.Name) {
				r.report(diag.New(diag.AmendConflict, a.Span, "union %s has the discriminant %s %s here, and %s %s where it is declared", c.to.Name.Name, a.Type.Name, a.Name.Name, b.Type.Name, b.Name.Name).
					With(b.Span, "declared here"))
			}
		}
	}
}

// checkVersions reports versions of an addition with another number than where they are declared.
func (r *resolver) checkVersions(c check) {
	byName := map[string]*syntax.Version{}
	for _, v := range c.to.Versions {
		byName[v.Name.Name] = v
	}
	for _, v := range c.add.Versions {
		old := byName[v.Name.Name]
		if old == nil {
			continue
		}
		a, ok1 := r.values.eval(v.Number)
		b, ok2 := r.values.eval(old.Number)
		if ok1 && ok2 && show(a.Value) != show(b.Value) {
			r.report(diag.New(diag.AmendConflict, v.Number.Span, "version %s has the number %s here, and %s where it is declared", v.Name.Name, show(a.Value), show(b.Value)).
				With(old.Number.Span, "declared here"))
		}
	}
}

// takenNumber is the finding for a member that an amended enum has by addition, and whose number
// another member has. It returns false if both were there before.
func (u *unit) takenNumber(enum *symbol, second, first *ir.Member) (diag.Diagnostic, bool) {
	s := u.scope.names[second.Name]
	f := u.scope.names[first.Name]
	if enum.decl.Of == nil || s == nil || f == nil || !u.amended.added[s.from] && !u.amended.added[f.from] {
		return diag.Diagnostic{}, false
	}
	return diag.New(diag.AmendConflict, second.Pos, "%s has the number of %s, %d, in enum %s", second.Name, first.Name, second.Value, enum.name).
		With(first.Pos, "declared here").Helpf("an addition needs a number that is not in use"), true
}
