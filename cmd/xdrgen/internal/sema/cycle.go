package sema

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// held calls visit with each declaration that a value of d holds a value of, in a
// struct in any case, in a union where the arm is selected: not behind a *, and not as
// element of what may be empty. An array of fixed length 0 counts: it has no bytes, but
// no Go type either.
func held(d *ir.Decl, visit func(*ir.Decl)) {
	if next := heldBy(d.Type); next != nil {
		visit(next)
	}
	for _, f := range d.Fields {
		if next := heldBy(f.Type); next != nil {
			visit(next)
		}
	}
	for _, a := range d.Arms {
		if a.Field == nil {
			continue
		}
		if next := heldBy(a.Field.Type); next != nil {
			visit(next)
		}
	}
}

// heldBy returns the declaration that a value of type t holds a value of; nil for none.
func heldBy(t *ir.Type) *ir.Decl {
	for t != nil && t.Kind == ir.FixedArray {
		t = t.Elem
	}
	if t != nil && (t.Kind == ir.Ref || t.Kind == ir.ListHead) {
		return t.Ref
	}
	return nil
}

// maxCircles limits how many circles are reported.
const maxCircles = 20

// checkCycles finds types that hold themselves and of which no value ends (RFC 4506
// §4.19): a union ends where some arm does. A circle is reported at its first
// declaration, and a declaration begins one circle at most.
func (c *compiler) checkCycles(u *unit) {
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
		held(d, func(next *ir.Decl) {
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
				c.report(holdsItself(path[from:]))
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

// endless returns the declarations of the unit of which no value ends. A struct ends
// where all its fields do, a union where one arm does.
func (u *unit) endless() map[*ir.Decl]bool {
	waits := map[*ir.Decl]int{} // for how many of what it holds
	users := map[*ir.Decl][]*ir.Decl{}
	var ends []*ir.Decl
	for _, d := range u.decls {
		n := 0
		held(d, func(next *ir.Decl) {
			if next.Import == u.imp { // an imported one was looked at in its own unit
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

// endsAtOnce reports whether some arm of union d holds nothing that might not end.
func (u *unit) endsAtOnce(d *ir.Decl) bool {
	for _, a := range d.Arms {
		if a.Default && len(a.Labels) == 0 && u.covered(d) {
			continue
		}
		if a.Field == nil {
			return true
		}
		if next := heldBy(a.Field.Type); next == nil || next.Import != u.imp {
			return true
		}
	}
	return false
}

// covered reports whether the cases of union d name every value of its discriminant, so
// that nothing selects the default.
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

// opens reports whether an enum takes numbers that are no members.
func (u *unit) opens(enum *ir.Decl) bool {
	return enum.Open || enum.Import == u.imp && u.opened[enum.Name]
}

func holdsItself(circle []*ir.Decl) diag.Diagnostic {
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
	r := diag.New(diag.ContainsItself, first.Pos, "%s %s holds itself: %s", kindName(first.Kind), first.Name, strings.Join(names, " -> "))
	for _, d := range circle[1:min(len(circle), 6)] {
		r = r.With(d.Pos, "which goes on here")
	}
	if union != nil {
		r = r.Note("no arm of union %s ends the circle", union.Name)
	}
	return r
}
