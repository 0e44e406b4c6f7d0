package sema

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// findLists finds the structs that are linked list nodes. In a node, the last field and no other
// field points to the struct itself. References to nodes become ListOf and ListHead.
func findLists(u *unit) {
	for _, d := range u.decls {
		if d.Kind != ir.Struct {
			continue
		}
		n := 0
		for _, f := range d.Fields {
			if pointsTo(f.Type) == d {
				n++
			}
		}
		last := len(d.Fields) - 1
		switch {
		case n == 0:
		case n > 1:
			d.NotList = "more than one field points to the next node"
		case pointsTo(d.Fields[last].Type) != d:
			d.NotList = "the pointer to the next node is not the last field"
		case last == 0:
			d.NotList = "it has no field besides the pointer to the next node"
		default:
			d.List = &ir.List{Elem: d.Fields[:last:last], Next: d.Fields[last], Whole: &ir.Decl{
				Kind: ir.Typedef, Name: d.Name, Pos: d.Pos, Import: d.Import, Anon: true,
				Type: &ir.Type{Kind: ir.ListHead, Ref: d, Pos: d.Pos},
			}}
		}
	}
	for _, d := range u.decls {
		for use := range d.Types() {
			toList(use.Type)
		}
	}
	findSingles(u)
}

// findSingles finds the nodes with one field and the pointer whose elements can be that field.
// From each such node and each typedef, lists, arrays and typedefs lead to one other at most, so
// that a walk meets each once.
func findSingles(u *unit) {
	walks := map[*ir.Decl]int{} // the walk that met the declaration
	for i, first := range u.decls {
		d := first
		for ; d != nil && walks[d] == 0; d = leadsTo(d) {
			walks[d] = i + 1
			if d.List != nil {
				d.List.Single = len(d.List.Elem) == 1
			}
		}
		// A circle that this walk has closed.
		for c := d; c != nil && walks[c] == i+1; c = leadsTo(c) {
			walks[c] = len(u.decls) + 1
			if c.List != nil {
				c.List.Single = false
			}
		}
	}
}

// leadsTo follows lists and arrays from d, a typedef, or a node with one field and the pointer, and
// returns the first other one of these, or nil. For other declarations it returns nil.
func leadsTo(d *ir.Decl) *ir.Decl {
	var t *ir.Type
	switch {
	case d.Kind == ir.Typedef:
		t = d.Type
	case d.List != nil && len(d.List.Elem) == 1:
		t = d.List.Elem[0].Type
	default:
		return nil
	}
	for t.Elem != nil {
		t = t.Elem
	}
	if r := t.Ref; r != nil && (r.Kind == ir.Typedef || r.List != nil && len(r.List.Elem) == 1) {
		return r
	}
	return nil
}

// pointsTo returns the struct that t, possibly by typedefs, is a pointer to, or nil.
func pointsTo(t *ir.Type) *ir.Decl {
	t = t.Underlying()
	switch t.Kind {
	case ir.ListOf:
		return t.Ref
	case ir.Optional:
		return structOf(t.Elem)
	}
	return nil
}

// structOf returns the struct that t, possibly by typedefs, is, or nil.
func structOf(t *ir.Type) *ir.Decl {
	t = t.Underlying()
	if (t.Kind == ir.Ref || t.Kind == ir.ListHead) && t.Ref.Kind == ir.Struct {
		return t.Ref
	}
	return nil
}

// toList changes a reference to a list node to ListOf or ListHead.
func toList(t *ir.Type) {
	switch t.Kind {
	case ir.Optional:
		if d := structOf(t.Elem); d != nil && d.List != nil {
			t.Kind, t.Ref, t.Elem = ir.ListOf, d, nil
		}
	case ir.Ref:
		if t.Ref.Kind == ir.Struct && t.Ref.List != nil {
			t.Kind = ir.ListHead
		}
	}
}

// findBases sets Base of each typedef, so that chains of typedefs are followed only once.
func findBases(u *unit) {
	for _, d := range u.decls {
		var chain []*ir.Decl
		for d.Kind == ir.Typedef && d.Base == nil {
			chain = append(chain, d)
			if d.Type.Kind != ir.Ref {
				break
			}
			d = d.Type.Ref
		}
		for _, c := range slices.Backward(chain) {
			c.Base = c.Type.Underlying()
		}
	}
}
