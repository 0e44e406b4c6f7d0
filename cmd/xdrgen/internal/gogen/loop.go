package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// each is a loop over the elements of an array or slice. The slice is held in a
// local and a struct element by pointer, so that the compiler loads
// and checks both once for each element and not for each field.
type each struct {
	seq  string // the local that holds the slice
	src  place
	i    string // the index
	ptr  string // the pointer to the element; empty where it is indexed
	elem place  // the element in the body
	bare bool   // the body looks at no element
	view bool   // of an array: seq is a slice of it
}

// over prepares a loop over the array or slice v of type t.
func (g *gen) over(vars *local, t *ir.Type, v place) *each {
	l := g.each(vars, t.Elem, v)
	l.view = t.Kind == ir.FixedArray
	return l
}

// each prepares a loop over the slice v, whose elements have type t; a nil t stands
// for the elements of a list that have several fields.
func (g *gen) each(vars *local, t *ir.Type, v place) *each {
	l := &each{src: v, i: vars.name("i"), seq: vars.name("s")}
	if t == nil || isStructLike(t) {
		l.ptr = vars.name("p")
		l.elem = v.elem(id(l.ptr), id(l.i))
		return l
	}
	l.elem = v.elem(id(l.seq).index(l.i), id(l.i))
	return l
}

// loop writes the loop around its body.
func (l *each) loop(body []jen.Code) []jen.Code {
	if len(body) == 0 {
		return nil // elements without bytes
	}
	if l.bare {
		return []jen.Code{jen.For().Range().Add(l.src.x()).Block(body...)}
	}
	if l.ptr != "" {
		body = append([]jen.Code{jen.Id(l.ptr).Op(":=").Op("&").Id(l.seq).Index(jen.Id(l.i))}, body...)
	}
	seq := l.src.x()
	if l.view {
		seq.Index(jen.Op(":"))
	}
	return []jen.Code{
		jen.Id(l.seq).Op(":=").Add(seq),
		jen.For(jen.Id(l.i).Op(":=").Range().Id(l.seq)).Block(body...),
	}
}

// listElem is the type of a list's elements, or nil where they have several fields.
func listElem(node *ir.Decl) *ir.Type {
	if len(node.List.Elem) == 1 {
		return node.List.Elem[0].Type
	}
	return nil
}
