package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// maxNested limits how deep arrays and optional data nest by typedefs alone, as braces are limited: generated code
// writes each level out wherever such a type is used.
const maxNested = 32

// checkNested reports the typedefs with which the nesting of arrays and optional data exceeds maxNested. A struct or
// union begins anew, since it has code of its own.
func (c *compiler) checkNested(u *unit) {
	depths := map[*ir.Decl]int{}
	var depth func(d *ir.Decl) int
	depth = func(d *ir.Decl) int {
		if n, ok := depths[d]; ok {
			return n
		}
		depths[d] = 0 // in a circle of typedefs, which is reported elsewhere
		n, t := 0, d.Type
		for t != nil && (t.Kind == ir.FixedArray || t.Kind == ir.Array || t.Kind == ir.Optional) {
			n, t = n+1, t.Elem
		}
		if t != nil && t.Kind == ir.Ref && t.Ref.Kind == ir.Typedef {
			under := depth(t.Ref)
			if n += under; n > maxNested && under <= maxNested && d.Import == u.imp {
				c.report(diag.New(diag.TooDeep, d.Pos, "typedef %s nests arrays and optional data more than %d deep", d.Name, maxNested).
					With(t.Ref.Pos, "built on this one"))
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
