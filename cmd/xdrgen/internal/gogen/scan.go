package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file finds what a scan of an unchecked message stops at; scanout.go writes it.

// maxSpots is how many lists and arrays a scan gives at most: there may be more ways
// to them than time for them.
const maxSpots = 64

// spot is a list or array that a scan gives, or what leads to some.
type spot struct {
	// num is the place of the list in the message; for a union or optional data, the
	// place behind it.
	num    int
	name   string              // the fields that lead there, as a name
	path   string              // the same, as a path: ".Field.Field"
	list   *ir.Type            // the list or array; nil for what leads to some
	elem   *spot               // of optional data
	fields map[*ir.Field]*spot // of a struct or union; those that lead to some
}

// spots finds the lists and arrays of one message, in their order on the wire. It
// does not look into lists, nor into types that contain themselves.
type spots struct {
	g     *gen
	nums  int
	found []*spot
	none  map[*ir.Decl]bool // leads nowhere
}

func (s *spots) typ(t *ir.Type, on spot) *spot {
	if s.full() {
		return nil
	}
	switch u := t.Underlying(); u.Kind {
	case ir.Array, ir.ListOf, ir.ListHead:
		on.list = u
		s.nums++
		on.num = s.nums
		s.found = append(s.found, &on)
		return &on
	case ir.Optional:
		if on.elem = s.typ(u.Elem, on); on.elem == nil {
			return nil
		}
		s.nums++
		on.num = s.nums
		return &on
	case ir.Ref:
		if u.Ref.Kind != ir.Enum {
			return s.decl(u.Ref, on)
		}
	}
	return nil
}

// full reports whether there are as many as there may be.
func (s *spots) full() bool { return len(s.found) == maxSpots }

func (s *spots) decl(d *ir.Decl, on spot) *spot {
	if d.Recursive || s.none[d] {
		return nil
	}
	if d.Kind == ir.Typedef {
		return s.typ(d.Type, on)
	}
	on.fields = map[*ir.Field]*spot{}
	field := func(f *ir.Field) {
		name := s.g.names.field[f]
		if at := s.typ(f.Type, spot{name: on.name + name, path: on.path + "." + name}); at != nil {
			on.fields[f] = at
		}
	}
	for _, f := range structFields(d) {
		field(f)
	}
	for _, a := range d.Arms {
		if a.Field != nil && !dead(d, a) {
			field(a.Field)
		}
	}
	if len(on.fields) == 0 {
		s.none[d] = !s.full()
		return nil
	}
	if d.Kind == ir.Union {
		s.nums++
		on.num = s.nums
	}
	return &on
}

// scans writes a scan for each message of the unit that holds lists or arrays.
// Messages are the types that no other type holds, and those that a procedure takes
// or returns.
func (g *gen) scans() {
	for _, d := range g.messages() {
		s := &spots{g: g, none: map[*ir.Decl]bool{}}
		top := s.decl(d, spot{})
		if top == nil {
			continue
		}
		g.scanned[d] = g.scan(d, top, s)
		g.next()
	}
}

// messages are the declarations that stand for whole messages.
func (g *gen) messages() []*ir.Decl {
	whole := map[*ir.Decl]bool{}
	for _, d := range g.unit.Decls {
		whole[d] = whole[d] || g.uses[d] == 0 && d.List == nil
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			for _, p := range v.Procs {
				for _, a := range p.Args {
					whole[a.Type.Ref] = true
				}
				if p.Result != nil {
					whole[p.Result.Ref] = true
				}
			}
		}
	}
	var out []*ir.Decl
	for _, d := range g.unit.Decls {
		if whole[d] && (hasView(d) || d.Kind == ir.Typedef && !isTransparent(d) && !isAlias(d)) {
			out = append(out, d)
		}
	}
	return out
}

// listed is the Go type of the elements of a list or array, as a scan gives them.
func (g *gen) listed(t *ir.Type) *jen.Statement {
	if elem := elemOf(t); elem != nil {
		return g.viewType(elem)
	}
	return g.viewName(t.Ref)
}

// elemOf is the type of the elements of a list or array, or nil where they have
// several fields.
func elemOf(t *ir.Type) *ir.Type {
	if t.Kind == ir.Array {
		return t.Elem
	}
	return listElem(t.Ref)
}
