package plan

// passLimit is the weight up to which check-only readers and scans write a struct or union out,
// even if decoders call its methods: a check has less code.
const passLimit = 8

// unchecked reports whether all values of s have one size, and any bytes are valid.
func (s *Step) unchecked() bool {
	return s.facts.unchecked.get(0, func() int {
		switch s.Op {
		case Word, Hyper:
			return 1
		case Enum:
			return truth(s.Of.Open)
		case Bytes:
			return truth(s.Len%4 == 0)
		case Loop, Typedef:
			return truth(s.Elem.unchecked())
		case Struct:
			return truth(s.Of.unchecked())
		}
		return 0
	}) > 0
}

func (t *Type) unchecked() bool {
	if t.Node || t.Recursive {
		return false
	}
	return t.facts.unchecked.get(0, func() int {
		for _, f := range t.Fields {
			if !f.Step.unchecked() {
				return 0
			}
		}
		return 1
	}) > 0
}

// checkWeight counts the statements of a check-only reader for s.
func (s *Step) checkWeight() int {
	return s.facts.check.get(never, func() int {
		if s.unchecked() && s.words() >= 0 {
			return 0 // part of a length check
		}
		switch s.Op {
		case Opaque:
			return 3
		case Loop, Array, Optional:
			return 2 + s.Elem.checkWeight()
		case Struct, Union, List:
			return 2 + s.Of.checkWeight()
		case Typedef:
			return s.Under().checkWeight()
		}
		return 1
	})
}

// checkWeight counts the statements of a check-only reader for a struct or union.
func (t *Type) checkWeight() int {
	if t.Recursive || t.Op != Struct && t.Op != Union {
		return never
	}
	return t.facts.check.get(never, func() int {
		n := 0
		if t.Op == Union {
			n = 2
		}
		for s := range t.parts {
			n += s.checkWeight()
		}
		return min(n, never)
	})
}
