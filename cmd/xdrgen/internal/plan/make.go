package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// Make returns the plan of a unit with its sidecar, which may be nil. TooLarge must have found
// nothing in the unit. The work is linear in the size of the unit.
func Make(u *ir.Unit, b *ir.Bind) *Plan {
	m := &maker{Plan: &Plan{unit: u, of: map[*ir.Decl]*Type{}, sites: map[*ir.Field]*Site{}, excesses: map[excessOf]excess{}, bares: map[*Type]int{}}}
	for _, imp := range u.Imports {
		m.addSites(imp.Bind, imp)
	}
	m.addSites(b, nil)

	var imported [][]*Type
	for _, imp := range u.Imports {
		imported = append(imported, m.declare(imp.Decls))
	}
	for _, d := range u.Decls {
		if t := m.typ(d); t != nil {
			m.Types = append(m.Types, t)
		}
		if d.List != nil {
			m.Types = append(m.Types, m.typ(d.List.Whole))
		}
	}
	for len(m.todo) > 0 {
		t := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.fill(t)
	}

	for i, types := range imported {
		markRepeated(types)
		m.markCompact(u.Imports[i].Decls)
	}
	markRepeated(m.Types)
	m.markCompact(u.Decls)
	m.markReducible()
	m.countUses()
	m.decide()
	m.findBares()
	return m.Plan
}

// maker makes a plan.
type maker struct {
	*Plan
	todo  []*Type // declared, but not filled
	all   []*Type
	steps []*Step
	slab  []Step // memory for the next steps
	in    *Type  // the type being filled
}

// declare returns the types of declarations.
func (m *maker) declare(decls []*ir.Decl) []*Type {
	var out []*Type
	for _, d := range decls {
		if t := m.typ(d); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// typ returns the type of declaration d, or nil for a constant or program.
func (m *maker) typ(d *ir.Decl) *Type {
	if t := m.of[d]; t != nil {
		return t
	}
	t := &Type{Decl: d, Node: d.List != nil, Recursive: d.Recursive, Open: d.Open, Size: Size(d)}
	switch d.Kind {
	case ir.Enum:
		t.Op = Enum
	case ir.Struct:
		t.Op = Struct
	case ir.Union:
		t.Op = Union
	case ir.Typedef:
		t.Op = Typedef
		t.Transparent = Transparent(d)
	default:
		return nil
	}
	t.View = HasView(d)
	m.of[d] = t
	m.all = append(m.all, t)
	m.todo = append(m.todo, t)
	return t
}

// Size returns the wire size of d. For a list node, it is the size of an element.
func Size(d *ir.Decl) ir.Size {
	if d.List == nil {
		return d.Size
	}
	var s ir.Size
	for _, f := range d.List.Elem {
		s.Min += f.Type.Size.Min
		s.Max += f.Type.Size.Max
		s.Unbounded = s.Unbounded || f.Type.Size.Unbounded
	}
	return s
}

// Fields returns the fields that d's Go struct has. For a list node, they are the element's.
func Fields(d *ir.Decl) []*ir.Field {
	if d.List != nil {
		return d.List.Elem
	}
	return d.Fields
}

// HasView reports whether d has fields or arms that a view can read.
func HasView(d *ir.Decl) bool {
	switch d.Kind {
	case ir.Struct:
		return d.List == nil || !d.List.Single
	case ir.Union:
		return true
	}
	return false
}

// fill makes the steps of t's parts.
func (m *maker) fill(t *Type) {
	m.in = t
	d := t.Decl
	switch {
	case d.IsList():
		m.fillList(t)
		return
	case t.Op == Typedef:
		t.Body = m.step(d.Type, nil)
	}
	for _, f := range Fields(d) {
		t.Fields = append(t.Fields, m.field(f))
	}
	if t.Node {
		t.elem = m.element(t)
	}
	if d.Disc != nil {
		m.in = nil
		t.Disc = m.field(d.Disc)
		m.in = t
	}
	for _, a := range d.Arms {
		arm := &Arm{Arm: a}
		if a.Field != nil {
			arm.Field = m.field(a.Field)
		}
		arm.Dead = a.Default && len(d.Arms) == 3 && d.Disc.Type.Underlying().Kind == ir.Bool
		t.Arms = append(t.Arms, arm)
	}
}

// fillList makes the steps of t, the typedef of a node's whole lists. Its code calls the methods of
// the element, so it does not count as a use of the node: the code of other types does not depend
// on it.
func (m *maker) fillList(t *Type) {
	m.in = nil
	t.Body = m.step(t.Decl.Type, nil)
	if node := t.Body.Of; !node.Decl.List.Single {
		elem := m.newStep(node.Size)
		elem.Op, elem.Of = Struct, node
		t.Body.Elem = elem
	}
}

// element returns the step for an element of t's lists: the only field, or a struct with all of
// them.
func (m *maker) element(t *Type) *Step {
	if t.Decl.List.Single {
		return t.Fields[0].Step
	}
	s := m.newStep(t.Size)
	s.Op, s.Of = Struct, t
	return s
}

func (m *maker) field(f *ir.Field) *Field { return &Field{f, m.step(f.Type, m.sites[f])} }

// step makes the step of a type. The value is placement site site, if that is not nil.
func (m *maker) step(t *ir.Type, site *Site) *Step {
	s := m.newStep(t.Size)
	switch t.Kind {
	case ir.Bool:
		s.Op = Bool
	case ir.Int:
		s.Op, s.Number = Word, Signed
	case ir.Uint:
		s.Op, s.Number = Word, Unsigned
	case ir.Hyper:
		s.Op, s.Number = Hyper, Signed
	case ir.Uhyper:
		s.Op, s.Number = Hyper, Unsigned
	case ir.Float:
		s.Op, s.Number = Word, Float
	case ir.Double:
		s.Op, s.Number = Hyper, Float
	case ir.Quad:
		s.Op, s.Len = Bytes, 16
	case ir.FixedOpaque:
		s.Op, s.Len = Bytes, int(t.Len)
	case ir.Opaque, ir.String:
		s.Op, s.Text, s.Bounded, s.Max, s.Site = Opaque, t.Kind == ir.String, t.Bounded, t.Max, site
	case ir.FixedArray:
		s.Op, s.Len, s.Elem = Loop, int(t.Len), m.step(t.Elem, nil)
	case ir.Array:
		s.Op, s.Bounded, s.Max, s.Site, s.Elem = Array, t.Bounded, t.Max, site, m.step(t.Elem, nil)
	case ir.Optional:
		s.Op, s.Elem = Optional, m.step(t.Elem, site)
	case ir.ListOf, ir.ListHead:
		s.Op, s.Head = List, t.Kind == ir.ListHead
		m.uses(s, t.Ref)
	case ir.Ref:
		m.uses(s, t.Ref)
		s.Op = s.Of.Op
		if s.Op == Typedef && site != nil {
			s.Elem = m.sited(t.Underlying(), site)
		}
	}
	return s
}

// sited makes the step of type t under the typedef of a field that is a placement site. The typedef
// itself has another step for it, which counts as its use of the types in t.
func (m *maker) sited(t *ir.Type, site *Site) *Step {
	in := m.in
	m.in = nil
	defer func() { m.in = in }()
	return m.step(t, site)
}

// uses makes d the named type of step s.
func (m *maker) uses(s *Step, d *ir.Decl) {
	s.Of = m.typ(d)
	if m.in != nil {
		s.Of.uses.by = append(s.Of.uses.by, m.in)
	}
}

func (m *maker) newStep(size ir.Size) *Step {
	if len(m.slab) == 0 {
		m.slab = make([]Step, min(len(m.steps)+1, 64))
	}
	s := &m.slab[0]
	m.slab = m.slab[1:]
	s.Size = size
	m.steps = append(m.steps, s)
	return s
}

// countUses counts in how many places of the unit each type is used.
func (m *maker) countUses() {
	for _, t := range m.all {
		for _, user := range t.uses.by {
			if user.Decl.Import == nil {
				t.uses.count++
			}
		}
	}
}
