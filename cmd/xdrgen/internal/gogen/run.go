package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// expr makes a fresh copy of a Go expression: jennifer's statements may be
// rendered in one place only.
type expr func() *jen.Statement

func id(name string) expr { return func() *jen.Statement { return jen.Id(name) } }

func (x expr) dot(field string) expr {
	return func() *jen.Statement { return x().Dot(field) }
}

func (x expr) index(i string) expr {
	return func() *jen.Statement { return x().Index(jen.Id(i)) }
}

// place is a value: its Go expression, and how an error names it.
type place struct {
	x    expr
	ptr  expr   // the pointer that x is behind, where it is
	root string // the type that the path begins at
	path string // fields since the nearest index, or since the type
	ups  []up   // the indexed fields around it, outermost first
	site expr   // Go constant of the placement site that it is; nil for none
}

// up is a field with an index into it.
type up struct {
	path  string
	index expr
}

// field is the place of field f of the struct or union at p.
func (g *gen) field(p place, f *ir.Field) place {
	q := p
	name := g.names.field[f]
	q.x, q.ptr = p.x.dot(name), nil
	q.path = join(p.path, name)
	q.site = g.sites[f]
	return q
}

// addr is a pointer to p.
func (p place) addr() *jen.Statement {
	if p.ptr != nil {
		return p.ptr()
	}
	return jen.Op("&").Add(p.x())
}

// elem is the place of an element of p, held by expression x.
func (p place) elem(x expr, index expr) place {
	ups := append(append([]up(nil), p.ups...), up{p.path, index})
	return place{x: x, root: p.root, ups: ups}
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// fail is the expression of an error at p: off is its offset.
func (p place) fail(code string, off jen.Code, found, want jen.Code) *jen.Statement {
	return p.locate("Fail", jen.Qual(xdrPath, code), off, found, want)
}

// short is the expression of an error for input that ends at p.
func (p place) short(buf jen.Code, off jen.Code, need jen.Code) *jen.Statement {
	return p.locate("Short", buf, off, need)
}

// wrap is the expression of an error that came from below p.
func (p place) wrap(err expr) *jen.Statement { return p.locate("In", err()) }

// stepIndices is how many indices one step of an error's path holds.
const stepIndices = 2

// locate is a call of the runtime that ends with the path to p and the indices in
// it. The path is one step, or several where it has too many indices.
func (p place) locate(name string, args ...jen.Code) *jen.Statement {
	ups := p.ups
	var inner []up
	if len(ups) > stepIndices {
		ups, inner = ups[:len(ups)-stepIndices], ups[len(ups)-stepIndices:]
		s := place{ups: inner, path: p.path}.locate(name, args...)
		return place{root: p.root, ups: ups}.locate("In", s)
	}
	path := ""
	for _, u := range ups {
		path = join(path, u.path) + "[]"
	}
	path = join(path, p.path)
	if p.root != "" {
		path = p.root + ":" + path
	}
	args = append(args, jen.Lit(path))
	for _, u := range ups {
		args = append(args, u.index())
	}
	return jen.Qual(codecPath, name).Call(args...)
}

// binary.BigEndian, which compiles to one load or store with a byte swap.
func bigEndian() *jen.Statement { return jen.Qual("encoding/binary", "BigEndian") }

// byValue is the length up to which opaque data of fixed length is assigned: copy is
// a call of memmove, which for a few words takes longer than they do.
const byValue = 128

// putArray stores the n bytes of the array at v in w, a slice of as many.
func putArray(w jen.Code, n int, v place) jen.Code {
	if n > byValue {
		return jen.Copy(w, v.x().Index(jen.Op(":")))
	}
	return jen.Op("*").Parens(jen.Op("*").Index(jen.Lit(n)).Byte()).Parens(w).Op("=").Add(v.x())
}

// getArray loads the n bytes of the array at v from w, a slice of as many.
func getArray(v place, n int, w jen.Code) jen.Code {
	if n > byValue {
		return jen.Copy(v.x().Index(jen.Op(":")), w)
	}
	return v.x().Op("=").Index(jen.Lit(n)).Byte().Parens(w)
}

// lacks is the condition that n bytes at off are not there.
func lacks(buf, off string, n *jen.Statement) *jen.Statement {
	return jen.Qual(codecPath, "Lacks").Call(jen.Id(buf), jen.Id(off), n)
}

const (
	flatLimit   = 24   // steps of code that a run takes from one type
	flatBytes   = 4096 // bytes of a fixed opaque that a run takes
	inlineLimit = 14   // steps up to which a type is inlined wherever it is used
	onceLimit   = 128  // the same for a type used in one place
	never       = 1 << 20
)

// steps counts the steps of code that a flat type unrolls to, or is negative
// where it is over flatLimit or not of fixed size.
func (g *gen) steps(t *ir.Type) int {
	switch t.Kind {
	case ir.Bool, ir.Int, ir.Uint, ir.Hyper, ir.Uhyper, ir.Float, ir.Double, ir.Quad:
		return 1
	case ir.FixedOpaque:
		if t.Len > flatBytes {
			return -1
		}
		return 1
	case ir.FixedArray:
		n := g.steps(t.Elem)
		if n < 0 || uint64(n)*t.Len > flatLimit {
			return -1
		}
		return n * int(t.Len)
	case ir.Ref:
		switch t.Ref.Kind {
		case ir.Enum:
			return 1
		case ir.Typedef:
			return g.steps(t.Underlying())
		case ir.Struct:
			if t.Ref.List != nil || t.Ref.Recursive {
				return -1
			}
			n, ok := g.flat[t.Ref]
			if !ok {
				n = g.sumSteps(t.Ref.Fields)
				g.flat[t.Ref] = n
			}
			return n
		}
	}
	return -1
}

func (g *gen) sumSteps(fs []*ir.Field) int {
	sum := 0
	for _, f := range fs {
		n := g.steps(f.Type)
		if n < 0 || sum+n > flatLimit {
			return -1
		}
		sum += n
	}
	return sum
}

// deepest is how many loops stand in each other where all are inlined.
const deepest = 6

// deep reports whether the arrays and lists in each other of type t are too many
// to be inlined.
func (g *gen) deep(t *ir.Type) bool { return g.loops(t) > deepest }

// loops counts the arrays, lists and optional data in each other of type t.
func (g *gen) loops(t *ir.Type) int {
	switch t.Kind {
	case ir.FixedArray, ir.Array, ir.Optional:
		return 1 + g.loops(t.Elem)
	case ir.ListOf, ir.ListHead:
		return 1 + g.declLoops(t.Ref)
	case ir.Ref:
		return g.declLoops(t.Ref)
	}
	return 0
}

func (g *gen) declLoops(d *ir.Decl) int {
	n, ok := g.nested[d]
	if ok || d.Recursive {
		return n
	}
	if d.Kind == ir.Typedef {
		n = g.loops(d.Type)
	}
	for _, f := range structFields(d) {
		n = max(n, g.loops(f.Type))
	}
	for _, a := range d.Arms {
		if a.Field != nil {
			n = max(n, g.loops(a.Field.Type))
		}
	}
	g.nested[d] = n
	return n
}

// weight counts the steps of code that a type of any size takes where it is
// inlined.
func (g *gen) weight(t *ir.Type) int {
	if n := g.steps(t); n >= 0 {
		return n
	}
	switch t.Kind {
	case ir.FixedOpaque:
		return 1
	case ir.Opaque, ir.String:
		return 4
	case ir.FixedArray, ir.Array:
		if g.deep(t) {
			return never
		}
		return 4 + g.weight(t.Elem)
	case ir.ListOf, ir.ListHead:
		return 4 + g.declWeight(t.Ref)
	case ir.Optional:
		return 2 + g.weight(t.Elem)
	}
	return g.declWeight(t.Ref)
}

func (g *gen) declWeight(d *ir.Decl) int {
	if n, ok := g.weights[d]; ok {
		return n
	}
	n := min(g.sumWeight(d), never) // structs that hold two of another double it at each level
	g.weights[d] = n
	return n
}

func (g *gen) sumWeight(d *ir.Decl) int {
	if d.Recursive {
		return never
	}
	switch d.Kind {
	case ir.Typedef:
		return g.weight(d.Type)
	case ir.Union:
		n := 2
		for _, a := range d.Arms {
			if a.Field != nil {
				n += g.weight(a.Field.Type)
			}
		}
		return n
	}
	return g.fieldsWeight(structFields(d))
}

func (g *gen) fieldsWeight(fs []*ir.Field) int {
	n := 0
	for _, f := range fs {
		n += g.weight(f.Type)
	}
	return n
}

// inlined reports whether the codec of declaration d is written out where it
// is used, rather than called: where it is small, or used in one place only
// and not large (ADR 0005).
func (g *gen) inlined(d *ir.Decl) bool {
	switch {
	case d.Kind == ir.Enum, d.Kind == ir.Typedef && (isTransparent(d) || isPointer(d)):
		return true
	case d.Recursive:
		return false
	case g.uses[d] == 1 && d.Import == nil:
		return g.declWeight(d) <= onceLimit
	case d.Kind == ir.Union:
		return false
	}
	return g.declWeight(d) <= inlineLimit
}

// countUses counts in how many places each declaration is used.
func (g *gen) countUses() {
	var use func(t *ir.Type)
	use = func(t *ir.Type) {
		if t.Ref != nil {
			g.uses[t.Ref]++
		}
		if t.Elem != nil {
			use(t.Elem)
		}
	}
	for _, d := range g.unit.Decls {
		if d.Type != nil {
			use(d.Type)
		}
		for _, f := range structFields(d) {
			use(f.Type)
		}
		for _, a := range d.Arms {
			if a.Field != nil {
				use(a.Field.Type)
			}
		}
	}
}

// fixedLen is the wire size of a type of fixed size.
func fixedLen(t *ir.Type) int { return int(t.Size.Min) }
