package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// maxNested limits the depth of arrays and optional data that are nested by typedefs alone.
// Generated code has each level in every place that uses such a type.
const maxNested = 32

// checkNested reports the typedefs at which the nesting of arrays and optional data exceeds
// maxNested. At a struct or union the count starts again, because it has its own code.
func checkNested(f *findings, u *unit) {
	depths := map[*ir.Decl]int{}
	var depth func(d *ir.Decl) int
	depth = func(d *ir.Decl) int {
		if n, ok := depths[d]; ok {
			return n
		}
		depths[d] = 0 // for a circle of typedefs, which checkCycles reports
		n, t := 0, d.Type
		for t != nil && (t.Kind == ir.FixedArray || t.Kind == ir.Array || t.Kind == ir.Optional) {
			n, t = n+1, t.Elem
		}
		if t != nil && t.Kind == ir.Ref && t.Ref.Kind == ir.Typedef {
			under := depth(t.Ref)
			if n += under; n > maxNested && under <= maxNested && d.Import == u.imp {
				f.report(diag.New(diag.TooDeep, d.Pos, "typedef %s nests arrays and optional data more than %d deep", d.Name, maxNested).
					With(t.Ref.Pos, "it is based on this one"))
			}
		}
		depths[d] = n
		return n
	}
	for _, d := range u.decls {
		if d.Kind == ir.Typedef {
			depth(d)
		}
	}
}
