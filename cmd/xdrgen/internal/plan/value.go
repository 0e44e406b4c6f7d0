package plan

// Holds reports whether a Go value of s holds memory behind slices or pointers, or a union that
// might.
func (s *Step) Holds() bool {
	return s.facts.holds.get(0, func() int {
		switch s.Op {
		case Opaque, Array, List:
			return 1
		case Optional:
			return truth(s.Pointer || s.Elem.Holds())
		case Loop, Typedef:
			return truth(s.Elem.Holds())
		case Struct, Union:
			return truth(s.Of.holds())
		}
		return 0
	}) > 0
}

// holds is Holds for a struct or union. A type that contains itself does so through a slice or
// pointer, so that the way back adds nothing.
func (t *Type) holds() bool {
	return t.facts.holds.get(0, func() int {
		for _, a := range t.Arms {
			if a.Pointer {
				return 1
			}
		}
		for s := range t.parts {
			if s.Holds() {
				return 1
			}
		}
		return 0
	}) > 0
}

// Plain reports whether == compares Go values of s as their encodings, and any value can be
// encoded.
func (s *Step) Plain() bool {
	return s.facts.plain.get(0, func() int {
		switch s.Op {
		case Word, Hyper:
			return truth(s.Number != Float)
		case Bool, Bytes:
			return 1
		case Enum:
			return truth(s.Of.Open)
		case Loop, Typedef:
			return truth(s.Elem.Plain())
		case Struct:
			return truth(s.Of.plain())
		}
		return 0
	}) > 0
}

// plain is Plain for a struct.
func (t *Type) plain() bool {
	return t.facts.plain.get(0, func() int {
		for s := range t.parts {
			if !s.Plain() {
				return 0
			}
		}
		return 1
	}) > 0
}
