package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// transparent are the typedefs of a built-in type that only spell its Go or C
// name: they become that type and are not declared.
var transparent = map[string]ir.Kind{
	"uint32": ir.Uint, "uint32_t": ir.Uint, "u_int": ir.Uint, "u_int32_t": ir.Uint, "u_long": ir.Uint,
	"int32": ir.Int, "int32_t": ir.Int, "uint64": ir.Uhyper, "uint64_t": ir.Uhyper,
	"u_int64_t": ir.Uhyper, "int64": ir.Hyper, "int64_t": ir.Hyper, "bool_t": ir.Bool,
}

// isTransparent reports whether d is such a typedef.
func isTransparent(d *ir.Decl) bool {
	if d.Kind != ir.Typedef {
		return false
	}
	k, ok := transparent[d.Name]
	return ok && d.Type.Kind == k
}

// resolve follows the typedefs that have no Go type of their own.
func resolve(t *ir.Type) *ir.Type {
	for t.Kind == ir.Ref && t.Ref.Kind == ir.Typedef && isTransparent(t.Ref) {
		t = t.Ref.Type
	}
	return t
}

// goType is the Go type for t.
func (g *gen) goType(t *ir.Type) *jen.Statement {
	t = resolve(t)
	switch t.Kind {
	case ir.Bool:
		return jen.Bool()
	case ir.Int:
		return jen.Int32()
	case ir.Uint:
		return jen.Uint32()
	case ir.Hyper:
		return jen.Int64()
	case ir.Uhyper:
		return jen.Uint64()
	case ir.Float:
		return jen.Float32()
	case ir.Double:
		return jen.Float64()
	case ir.Quad:
		return jen.Index(jen.Lit(16)).Byte()
	case ir.FixedOpaque:
		return jen.Index(jen.Lit(int(t.Len))).Byte()
	case ir.Opaque:
		return jen.Index().Byte()
	case ir.String:
		return jen.Qual(xdrPath, "String")
	case ir.FixedArray:
		return jen.Index(jen.Lit(int(t.Len))).Add(g.goType(t.Elem))
	case ir.Array:
		return jen.Index().Add(g.goType(t.Elem))
	case ir.Optional:
		if pointerOptional(t) {
			return jen.Op("*").Add(g.goType(t.Elem))
		}
		return jen.Qual(xdrPath, "Optional").Types(g.goType(t.Elem))
	case ir.ListOf, ir.ListHead:
		return jen.Index().Add(g.elemType(t.Ref))
	}
	return g.declType(t.Ref)
}

// elemType is the Go type of an element of list node d: its one field's type,
// or the node's own without the pointer.
func (g *gen) elemType(d *ir.Decl) *jen.Statement {
	if len(d.List.Elem) == 1 {
		return g.goType(d.List.Elem[0].Type)
	}
	return g.declType(d)
}

func (g *gen) declType(d *ir.Decl) *jen.Statement {
	if d.Import != nil {
		return jen.Qual(d.Import.Package, g.names.decl[d])
	}
	return jen.Id(g.names.decl[d])
}

// pointerOptional reports whether optional data is held by pointer: it
// must be where the type contains itself.
func pointerOptional(t *ir.Type) bool { return holdsRecursive(t.Elem) }

// holdsRecursive reports whether a Go value of type t has one in it of a type that
// contains itself.
func holdsRecursive(t *ir.Type) bool {
	u := t.Underlying()
	for u.Kind == ir.FixedArray {
		u = u.Elem.Underlying()
	}
	return u.Kind == ir.Ref && u.Ref.Recursive
}

// mem is the size and alignment of a Go type, on a 64-bit machine: what the
// memory budget is charged.
type mem struct{ size, align int }

func (m *mem) add(f mem) {
	if f.align == 0 {
		return
	}
	m.size = (m.size + f.align - 1) / f.align * f.align
	m.size += f.size
	m.align = max(m.align, f.align)
}

func (m mem) padded() mem {
	if m.align > 0 {
		m.size = (m.size + m.align - 1) / m.align * m.align
	}
	return m
}

var (
	sliceMem   = mem{24, 8}
	pointerMem = mem{8, 8}
)

// memOf is the memory of a value of type t, not of what it points to.
func (g *gen) memOf(t *ir.Type) mem {
	switch t.Kind {
	case ir.Bool:
		return mem{1, 1}
	case ir.Int, ir.Uint, ir.Float:
		return mem{4, 4}
	case ir.Hyper, ir.Uhyper, ir.Double:
		return mem{8, 8}
	case ir.Quad:
		return mem{16, 1}
	case ir.FixedOpaque:
		return mem{int(t.Len), 1}
	case ir.FixedArray:
		e := g.memOf(t.Elem)
		return mem{e.size * int(t.Len), e.align}
	case ir.Optional:
		if pointerOptional(t) {
			return pointerMem
		}
		m := g.memOf(t.Elem)
		m.add(mem{1, 1})
		return m.padded()
	case ir.Ref:
		return g.memOfDecl(t.Ref)
	}
	return sliceMem // Opaque, String, Array, ListOf, ListHead
}

// memOfDecl is the memory of a named type; of a list node, that of an
// element.
func (g *gen) memOfDecl(d *ir.Decl) mem {
	switch d.Kind {
	case ir.Enum:
		return mem{4, 4}
	case ir.Typedef:
		return g.memOf(d.Type.Underlying())
	}
	if m, ok := g.mems[d]; ok {
		return m
	}
	var m mem
	switch d.Kind {
	case ir.Struct:
		for _, f := range structFields(d) {
			m.add(g.memOf(f.Type))
		}
	case ir.Union:
		m.add(g.memOf(d.Disc.Type))
		for _, a := range d.Arms {
			switch {
			case a.Field == nil:
			case g.byPointer(d, a):
				m.add(pointerMem)
			default:
				m.add(g.memOf(a.Field.Type))
			}
		}
	}
	m = m.padded()
	g.mems[d] = m
	return m
}

// structFields are the fields that the Go struct has: all, but of a list node
// those of an element.
func structFields(d *ir.Decl) []*ir.Field {
	if d.List != nil {
		return d.List.Elem
	}
	return d.Fields
}

// inlineArms is the memory up to which the arms of a union that may occur
// many times in a message lie in the union itself, all together (ADR 0002).
const inlineArms = 128

// byPointer reports whether arm a of union d is held by pointer. A union that a
// message holds once keeps its arms inline; one
// that may occur many times only the first ones that fit inlineArms, so that a
// short item on the wire never costs much memory (D2).
//
// An arm that may hold the union again is a pointer in any case: RFC 4506 §4.19 lets
// another arm end such a type, and a Go type cannot hold itself.
func (g *gen) byPointer(d *ir.Decl, a *ir.Arm) bool {
	if holdsRecursive(a.Field.Type) {
		return true
	}
	if !g.many[d] {
		return false
	}
	if _, known := g.pointers[a]; !known {
		g.layArms(d)
	}
	return g.pointers[a]
}

// layArms decides for the arms of union d, which may occur many times, whether they are
// held by pointer.
func (g *gen) layArms(d *ir.Decl) {
	used := 0
	for _, a := range d.Arms {
		if a.Field == nil || holdsRecursive(a.Field.Type) {
			continue
		}
		size := g.memOf(a.Field.Type).size
		fits := used+size <= inlineArms
		if fits {
			used += size
		}
		g.pointers[a] = !fits
	}
}

// findMany marks every declaration that one message may hold many times:
// what lies under an array or a list, or in a type that contains itself. decls
// are those of one unit: its layout must not depend on who imports it.
func (g *gen) findMany(decls []*ir.Decl) {
	var mark func(t *ir.Type, many bool)
	var markDecl func(d *ir.Decl, many bool)
	seen, ours := map[*ir.Decl]bool{}, map[*ir.Decl]bool{}
	for _, d := range decls {
		ours[d] = true
	}
	mark = func(t *ir.Type, many bool) {
		switch t.Kind {
		case ir.FixedArray, ir.Array:
			mark(t.Elem, true)
		case ir.Optional:
			mark(t.Elem, many)
		case ir.ListOf, ir.ListHead:
			markDecl(t.Ref, true)
		case ir.Ref:
			markDecl(t.Ref, many)
		}
	}
	markDecl = func(d *ir.Decl, many bool) {
		many = many || d.Recursive
		// How an imported type lies in memory its own package has decided.
		if !ours[d] || g.many[d] || !many && seen[d] {
			return
		}
		g.many[d] = many
		seen[d] = true
		switch d.Kind {
		case ir.Typedef:
			mark(d.Type, many)
		case ir.Struct:
			for _, f := range structFields(d) {
				mark(f.Type, many)
			}
		case ir.Union:
			for _, a := range d.Arms {
				if a.Field != nil {
					mark(a.Field.Type, many)
				}
			}
		}
	}
	for _, d := range decls {
		markDecl(d, d.List != nil)
	}
}

// memOfElem is the memory of one element of list node d.
func (g *gen) memOfElem(d *ir.Decl) int {
	if len(d.List.Elem) == 1 {
		return g.memOf(d.List.Elem[0].Type).size
	}
	return g.memOfDecl(d).size
}

// basicConversion is the built-in type under a typedef that declares a scalar
// type of its own, or nil where values need no conversion.
func (g *gen) basicConversion(d *ir.Decl) expr {
	if isTransparent(d) {
		return nil
	}
	switch t := resolve(d.Type); t.Kind {
	case ir.Bool, ir.Int, ir.Uint, ir.Hyper, ir.Uhyper, ir.Float, ir.Double:
		return func() *jen.Statement { return g.goType(t) }
	}
	return nil
}

// named follows the typedefs that are aliases.
func named(d *ir.Decl) *ir.Decl {
	for d.Kind == ir.Typedef && isAlias(d) && resolve(d.Type).Kind == ir.Ref {
		d = resolve(d.Type).Ref
	}
	return d
}

// isAlias reports whether typedef d is only another name for a Go type that
// has its methods already, or cannot have any.
func isAlias(d *ir.Decl) bool {
	t := resolve(d.Type)
	return t.Kind == ir.Ref || t.Kind == ir.Optional && pointerOptional(t)
}

// isPointer reports whether typedef d names a Go pointer, which can have no methods.
func isPointer(d *ir.Decl) bool {
	t := d.Type.Underlying()
	return t.Kind == ir.Optional && pointerOptional(t)
}
