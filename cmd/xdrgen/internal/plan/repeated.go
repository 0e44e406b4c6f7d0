package plan

// markRepeated marks every type that may occur many times in one message: types under an array or a
// list, or in a type that contains itself. All types must be from one unit, because the layout of a
// unit's values must not depend on the units that import it.
func markRepeated(types []*Type) {
	r := repeater{unit: map[*Type]bool{}, seen: map[*Type]bool{}}
	for _, t := range types {
		r.unit[t] = true
	}
	for _, t := range types {
		r.typ(t, t.Node)
	}
}

type repeater struct {
	unit map[*Type]bool
	seen map[*Type]bool
}

func (r *repeater) typ(t *Type, many bool) {
	many = many || t.Recursive
	// The package of an imported type has decided the layout of its values.
	if !r.unit[t] || t.Repeated || !many && r.seen[t] {
		return
	}
	t.Repeated = many
	r.seen[t] = true
	if t.Body != nil {
		r.step(t.Body, many)
	}
	for _, f := range t.Fields {
		r.step(f.Step, many)
	}
	for _, a := range t.Arms {
		if a.Field != nil {
			r.step(a.Field.Step, many)
		}
	}
}

func (r *repeater) step(s *Step, many bool) {
	switch s.Op {
	case Loop, Array:
		r.step(s.Elem, true)
	case Optional:
		r.step(s.Elem, many)
	case List:
		r.typ(s.Of, true)
	case Struct, Union, Typedef, Enum:
		r.typ(s.Of, many)
	}
}
