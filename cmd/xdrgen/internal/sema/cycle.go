package sema

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// held calls visit with each declaration that a value of d holds a value of,
// in any case: not behind a *, and not as element of what may be empty.
func held(d *ir.Decl, visit func(*ir.Decl)) {
	byValue := func(t *ir.Type) {
		for t != nil && t.Kind == ir.FixedArray && t.Len > 0 {
			t = t.Elem
		}
		if t != nil && (t.Kind == ir.Ref || t.Kind == ir.ListHead) {
			visit(t.Ref)
		}
	}
	byValue(d.Type)
	for _, f := range d.Fields {
		byValue(f.Type)
	}
	for _, a := range d.Arms {
		if a.Field != nil {
			byValue(a.Field.Type)
		}
	}
}

// maxCircles limits how many circles are reported.
const maxCircles = 20

// checkCycles finds types that hold themselves and so have no end (RFC 4506
// §4.19). Each circle is reported once, at its first declaration.
func (c *compiler) checkCycles(u *unit) {
	const (
		active = 1
		done   = 2
	)
	mark := map[*ir.Decl]int{}
	var path []*ir.Decl
	found := 0
	var walk func(d *ir.Decl)
	walk = func(d *ir.Decl) {
		mark[d] = active
		path = append(path, d)
		held(d, func(next *ir.Decl) {
			switch {
			case next.Import != u.imp:
			case mark[next] == 0:
				walk(next)
			case mark[next] == active && found < maxCircles:
				found++
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
		if mark[d] == 0 {
			walk(d)
		}
	}
}

func holdsItself(circle []*ir.Decl) diag.Diagnostic {
	first := circle[0]
	var names []string
	for _, d := range circle {
		names = append(names, d.Name)
	}
	names = append(names, first.Name)
	if len(names) > 12 {
		names = append(append(names[:6:6], "..."), names[len(names)-5:]...)
	}
	r := diag.New(diag.ContainsItself, first.Pos, "%s %s holds itself: %s", kindName(first.Kind), first.Name, strings.Join(names, " -> "))
	for _, d := range circle[1:min(len(circle), 6)] {
		r = r.With(d.Pos, "which goes on here")
	}
	return r
}
