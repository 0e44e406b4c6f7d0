package sema

import (
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// eachContained calls visit with the declaration of each value that a value of d contains: as a
// field of a struct, or as the selected arm of a union. Optional data and arrays that may be empty
// do not count, because there a recursion can stop. An array of fixed length 0 counts: it has no
// bytes, but no Go type either.
func eachContained(d *ir.Decl, visit func(*ir.Decl)) {
	if next := containedDecl(d.Type); next != nil {
		visit(next)
	}
	for _, f := range d.Fields {
		if next := containedDecl(f.Type); next != nil {
			visit(next)
		}
	}
	for _, a := range d.Arms {
		if a.Field == nil {
			continue
		}
		if next := containedDecl(a.Field.Type); next != nil {
			visit(next)
		}
	}
}

// containedDecl returns the declaration of the value that a value of type t contains, or nil.
func containedDecl(t *ir.Type) *ir.Decl {
	for t != nil && t.Kind == ir.FixedArray {
		t = t.Elem
	}
	if t != nil && (t.Kind == ir.Ref || t.Kind == ir.ListHead) {
		return t.Ref
	}
	return nil
}

// maxCircles limits the number of circles that are reported.
const maxCircles = 20

// checkCycles reports types that contain themselves and have no finite value (RFC 4506 §4.19). A
// union has one if one of its arms has. A circle is reported at its first declaration, and at
// most one for each declaration.
func checkCycles(f *findings, u *unit) {
	const (
		active = 1
		done   = 2
	)
	endless := u.endless()
	mark, begins := map[*ir.Decl]int{}, map[*ir.Decl]bool{}
	var path []*ir.Decl
	var walk func(d *ir.Decl)
	walk = func(d *ir.Decl) {
		mark[d] = active
		path = append(path, d)
		eachContained(d, func(next *ir.Decl) {
			switch {
			case !endless[next] || begins[next]:
			case mark[next] == 0:
				walk(next)
			case mark[next] == active && len(begins) < maxCircles:
				begins[next] = true
				from := len(path) - 1
				for path[from] != next {
					from--
				}
				f.report(containsItself(path[from:]))
			}
		})
		path = path[:len(path)-1]
		mark[d] = done
	}
	for _, d := range u.decls {
		if endless[d] && mark[d] == 0 {
			walk(d)
		}
	}
}

// endless returns the declarations of the unit without a finite value. A struct has one if all
// its fields have, a union if one of its arms has.
func (u *unit) endless() map[*ir.Decl]bool {
	waits := map[*ir.Decl]int{} // number of contained declarations not known to be finite
	users := map[*ir.Decl][]*ir.Decl{}
	var ends []*ir.Decl
	for _, d := range u.decls {
		n := 0
		eachContained(d, func(next *ir.Decl) {
			if next.Import == u.imp { // an imported one was checked in its own unit
				users[next] = append(users[next], d)
				n++
			}
		})
		if d.Kind == ir.Union {
			n = min(n, 1)
			if u.endsAtOnce(d) {
				n = 0
			}
		}
		if waits[d] = n; n == 0 {
			ends = append(ends, d)
		}
	}
	for len(ends) > 0 {
		d := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		for _, user := range users[d] {
			if waits[user]--; waits[user] == 0 {
				ends = append(ends, user)
			}
		}
	}
	endless := map[*ir.Decl]bool{}
	for d, n := range waits {
		if n > 0 {
			endless[d] = true
		}
	}
	return endless
}

// endsAtOnce reports whether union d has an arm without declarations of the unit.
func (u *unit) endsAtOnce(d *ir.Decl) bool {
	for _, a := range d.Arms {
		if a.Default && len(a.Labels) == 0 && u.covered(d) {
			continue
		}
		if a.Field == nil {
			return true
		}
		if next := containedDecl(a.Field.Type); next == nil || next.Import != u.imp {
			return true
		}
	}
	return false
}

// covered reports whether the cases of union d have all values of its discriminant, so that no
// value selects the default.
func (u *unit) covered(d *ir.Decl) bool {
	if d.Disc == nil {
		return false
	}
	named := map[int64]bool{}
	for _, a := range d.Arms {
		for _, l := range a.Labels {
			named[signed(l.Value)] = true
		}
	}
	t := underlying(d.Disc.Type)
	switch {
	case t == nil:
		return false
	case t.Kind == ir.Bool:
		return named[0] && named[1]
	case t.Kind != ir.Ref || t.Ref.Kind != ir.Enum || u.opens(t.Ref):
		return false
	}
	for _, m := range t.Ref.Members {
		if !named[int64(m.Value)] {
			return false
		}
	}
	return true
}

// opens reports whether an enum takes numbers that are not members.
func (u *unit) opens(enum *ir.Decl) bool {
	return enum.Open || enum.Import == u.imp && u.side.opened[enum.Name]
}

func containsItself(circle []*ir.Decl) diag.Diagnostic {
	first := circle[0]
	var names []string
	var union *ir.Decl
	for _, d := range circle {
		names = append(names, d.Name)
		if d.Kind == ir.Union && union == nil {
			union = d
		}
	}
	names = append(names, first.Name)
	if len(names) > 12 {
		names = append(append(names[:6:6], "..."), names[len(names)-5:]...)
	}
	if !slices.ContainsFunc(circle, func(d *ir.Decl) bool { return d.Kind != ir.Typedef }) {
		what := "a typedef cannot be its own type: write the type that %s stands for, such as typedef int %[1]s;"
		if len(circle) > 1 {
			what = "a typedef cannot be its own type: write in one of them the type that all stand for, such as typedef int %s;"
		}
		return ofCircle(circle, names).Helpf(what, first.Name)
	}
	r := ofCircle(circle, names)
	if union != nil {
		r = r.Note("no arm of union %s leads out of the circle", union.Name)
	}
	return r
}

// ofCircle is the finding for a circle of declarations, which names lists.
func ofCircle(circle []*ir.Decl, names []string) diag.Diagnostic {
	first := circle[0]
	r := diag.New(diag.ContainsItself, first.Pos, "%s %s contains itself: %s", kindName(first.Kind), first.Name, strings.Join(names, " -> "))
	for _, d := range circle[1:min(len(circle), 6)] {
		r = r.With(d.Pos, "next in the circle")
	}
	return r
}
