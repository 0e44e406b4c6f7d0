package plan

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// largest is the largest size of a Go array in a value, which is there whether it is used or not.
// Go itself allows 2 GiB on 32 bits.
const largest = 1 << 30

// TooLarge finds arrays and opaque data of fixed size that no Go value should hold, and typedefs
// that lead back to themselves by value.
func TooLarge(u *ir.Unit) []diag.Diagnostic {
	var out []diag.Diagnostic
	var look func(t *ir.Type)
	look = func(t *ir.Type) {
		if t == nil {
			return
		}
		if (t.Kind == ir.FixedOpaque || t.Kind == ir.FixedArray) && t.Size.Min > largest {
			out = append(out, diag.New(diag.BadBound, t.Pos, "a fixed length of %d bytes is too large for a Go array", t.Size.Min).
				Helpf("use a counted array or opaque: %d bytes at most are of fixed size", largest))
			return
		}
		look(t.Elem)
	}
	ends := map[*ir.Decl]bool{}
	for _, d := range u.Decls {
		if endless(d, ends) {
			out = append(out, diag.New(diag.ContainsItself, d.Pos, "typedef %s is optional data of itself and nothing else, for which there is no Go type", d.Name).
				Helpf("put one of the typedefs on the way into a struct"))
		}
		look(d.Type)
		for _, f := range d.Fields {
			look(f.Type)
		}
		for _, a := range d.Arms {
			if a.Field != nil {
				look(a.Field.Type)
			}
		}
	}
	return out
}

// endless reports whether typedef d comes back to itself by optional data and arrays of fixed
// length alone, so that there is no struct or union to which a pointer could lead. Typedefs that
// are known to end are in ends, so that a chain is followed once.
func endless(d *ir.Decl, ends map[*ir.Decl]bool) bool {
	var path []*ir.Decl
	seen := map[*ir.Decl]bool{}
	for t := d.Type; d.Kind == ir.Typedef && !ends[d] && t != nil; {
		switch {
		case t.Kind == ir.Optional || t.Kind == ir.FixedArray:
			t = t.Elem
		case t.Kind == ir.Ref && t.Ref == d:
			return true
		case t.Kind == ir.Ref && t.Ref.Kind == ir.Typedef && seen[t.Ref]:
			return false // a circle without d
		case t.Kind == ir.Ref && t.Ref.Kind == ir.Typedef && !ends[t.Ref]:
			seen[t.Ref] = true
			path = append(path, t.Ref)
			t = t.Ref.Type
		default:
			for _, p := range append(path, d) {
				ends[p] = true
			}
			return false
		}
	}
	return false
}
