package sema

import (
	"math"
	"slices"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// findRecursion sets Recursive of the declarations that contain themselves other than as a linked
// list, by Tarjan's algorithm for strongly connected components. It returns these declarations.
// Where possible, a declaration comes after those that it refers to.
func findRecursion(u *unit) []*ir.Decl {
	t := tarjan{unit: u, index: map[*ir.Decl]int{}, low: map[*ir.Decl]int{}, on: map[*ir.Decl]bool{}}
	for _, d := range u.decls {
		if t.index[d] == 0 {
			t.visit(d)
		}
	}
	for _, d := range u.decls {
		if d.Kind == ir.Struct && d.Recursive && d.List == nil && d.NotList == "" {
			d.NotList = "it refers to itself through another type"
		}
	}
	return slices.DeleteFunc(t.order, func(d *ir.Decl) bool { return !d.Recursive })
}

type tarjan struct {
	unit  *unit
	next  int
	index map[*ir.Decl]int
	low   map[*ir.Decl]int
	on    map[*ir.Decl]bool
	stack []*ir.Decl
	order []*ir.Decl // completed declarations
}

func (t *tarjan) visit(d *ir.Decl) {
	t.next++
	t.index[d], t.low[d] = t.next, t.next
	t.stack = append(t.stack, d)
	t.on[d] = true
	self := false
	refs(d, func(r *ir.Decl) {
		switch {
		case r.Import != t.unit.imp: // a unit cannot reach back from what it imports
		case r == d:
			self = true
		case t.index[r] == 0:
			t.visit(r)
			t.low[d] = min(t.low[d], t.low[r])
		case t.on[r]:
			t.low[d] = min(t.low[d], t.index[r])
		}
	})
	t.order = append(t.order, d)
	if t.low[d] != t.index[d] {
		return
	}
	for size := 1; ; size++ {
		top := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.on[top] = false
		top.Recursive = size > 1 || top != d || self
		if top == d {
			return
		}
	}
}

// refs calls visit with each declaration that d refers to. It skips the pointer of a list node to
// the next node.
func refs(d *ir.Decl, visit func(*ir.Decl)) {
	fields := d
	if d.List != nil {
		fields = &ir.Decl{Fields: d.List.Elem}
	}
	for use := range fields.Types() {
		if r := use.Type.Ref; r != nil {
			visit(r)
		}
	}
}

// sizeUnit computes the wire sizes of a unit's declarations. The smallest sizes of recursive
// declarations are found in rounds, until a round finds no smaller size. Rounds go through the
// declarations forward and backward in turn, so that a chain takes few rounds in any direction.
func sizeUnit(u *unit, recursive []*ir.Decl) {
	for _, d := range recursive {
		d.Size = ir.Size{Min: maxSize, Unbounded: true}
	}
	for changed := true; changed; slices.Reverse(recursive) {
		changed = false
		s := sizer{done: map[*ir.Decl]bool{}}
		for _, d := range recursive {
			if least := s.content(d).Min; least < d.Size.Min {
				d.Size.Min, changed = least, true
			}
		}
	}
	s := sizer{done: map[*ir.Decl]bool{}}
	for _, d := range u.decls {
		s.decl(d)
		for use := range d.Types() {
			s.typ(use.Type)
		}
		if d.List != nil {
			d.List.Whole.Size = s.typ(d.List.Whole.Type)
		}
	}
}

const maxSize = math.MaxInt64

func add(a, b ir.Size) ir.Size {
	return ir.Size{Min: satAdd(a.Min, b.Min), Max: satAdd(a.Max, b.Max), Unbounded: a.Unbounded || b.Unbounded || satAdd(a.Max, b.Max) == maxSize}
}

func satAdd(a, b uint64) uint64 {
	if a+b > maxSize || a+b < a {
		return maxSize
	}
	return a + b
}

func satMul(a, b uint64) uint64 {
	if a != 0 && b > maxSize/a {
		return maxSize
	}
	return a * b
}

func words(n uint64) ir.Size { return ir.Size{Min: 4 * n, Max: 4 * n} }

func padded(n uint64) uint64 { return (n + 3) &^ 3 }

type sizer struct {
	done map[*ir.Decl]bool
}

// decl returns the wire size of d. For a list node, it is the size of the list that begins with it.
func (s *sizer) decl(d *ir.Decl) ir.Size {
	if d.Recursive || s.done[d] || d.Import != nil && d.Size != (ir.Size{}) {
		return d.Size
	}
	s.done[d] = true // before content, since a list node refers to itself
	d.Size = s.content(d)
	return d.Size
}

// content returns the wire size of d's contents.
func (s *sizer) content(d *ir.Decl) ir.Size {
	switch d.Kind {
	case ir.Enum:
		return words(1)
	case ir.Typedef:
		return s.typ(d.Type)
	case ir.Struct:
		fields, size := d.Fields, ir.Size{}
		if d.List != nil {
			fields, size = d.List.Elem, ir.Size{Min: 4, Unbounded: true}
		}
		for _, f := range fields {
			size = add(size, s.typ(f.Type))
		}
		return size
	case ir.Union:
		return s.union(d)
	}
	return ir.Size{}
}

// union returns the size of the discriminant and the smallest and largest arm.
func (s *sizer) union(d *ir.Decl) ir.Size {
	arms := ir.Size{Min: maxSize}
	for _, a := range d.Arms {
		size := ir.Size{}
		if a.Field != nil {
			size = s.typ(a.Field.Type)
		}
		arms.Min = min(arms.Min, size.Min)
		arms.Max = max(arms.Max, size.Max)
		arms.Unbounded = arms.Unbounded || size.Unbounded
	}
	return add(words(1), arms)
}

// typ computes, stores and returns the size of a type.
func (s *sizer) typ(t *ir.Type) ir.Size {
	t.Size = s.compute(t)
	if t.Size.Unbounded {
		t.Size.Max = 0
	}
	return t.Size
}

func (s *sizer) compute(t *ir.Type) ir.Size {
	switch t.Kind {
	case ir.Bool, ir.Int, ir.Uint, ir.Float:
		return words(1)
	case ir.Hyper, ir.Uhyper, ir.Double:
		return words(2)
	case ir.Quad:
		return words(4)
	case ir.FixedOpaque:
		return ir.Size{Min: padded(t.Len), Max: padded(t.Len)}
	case ir.Opaque, ir.String:
		return ir.Size{Min: 4, Max: 4 + padded(t.Max)}
	case ir.FixedArray:
		e := s.typ(t.Elem)
		size := ir.Size{Min: satMul(e.Min, t.Len), Max: satMul(e.Max, t.Len)}
		size.Unbounded = t.Len > 0 && e.Unbounded || size.Max == maxSize
		return size
	case ir.Array:
		switch {
		case t.Max == 0:
			return words(1)
		case recursive(t.Elem):
			return ir.Size{Min: 4, Unbounded: true}
		}
		e := s.typ(t.Elem)
		m := satMul(e.Max, t.Max)
		return ir.Size{Min: 4, Max: satAdd(4, m), Unbounded: e.Unbounded || m == maxSize}
	case ir.Optional:
		if recursive(t.Elem) {
			return ir.Size{Min: 4, Unbounded: true}
		}
		e := s.typ(t.Elem)
		return ir.Size{Min: 4, Max: satAdd(4, e.Max), Unbounded: e.Unbounded}
	case ir.ListOf:
		return ir.Size{Min: 4, Unbounded: true}
	}
	return s.decl(t.Ref)
}

// recursive reports whether t contains itself. Its size may not be known yet, but has no limit.
func recursive(t *ir.Type) bool { return t.Ref != nil && t.Ref.Recursive }
