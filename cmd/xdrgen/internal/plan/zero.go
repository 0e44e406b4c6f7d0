package plan

// zeroLimit is the memory of the largest value that is emptied as a whole. Beyond that, a union
// that changes its arm often, in few bytes of input, would take too long.
const zeroLimit = 1024

// zero reports whether a value of t is emptied by assigning the zero value: it has no slices of
// elements and no pointers to arms. Those keep their memory.
func (t *Type) zero() bool {
	return (t.Op == Struct || t.Op == Union) && !t.keeps() && t.mem().size <= zeroLimit
}

// keeps reports whether a value has memory that is kept when it is emptied.
func (t *Type) keeps() bool {
	return t.facts.keeps.get(0, func() int {
		for _, f := range t.Fields {
			if f.Step.keeps() {
				return 1
			}
		}
		for _, a := range t.Arms {
			switch {
			case a.Field == nil || a.Pointer && t.Recursive:
			case a.Pointer || a.Field.Step.keeps():
				return 1
			}
		}
		return 0
	}) > 0
}

func (s *Step) keeps() bool {
	switch s.Op {
	case Array, List:
		return true
	case Loop:
		return s.Elem.keeps()
	case Optional:
		return !s.Pointer && s.Elem.keeps()
	case Typedef:
		return s.Under().keeps()
	case Struct, Union:
		return s.Of.keeps()
	}
	return false
}
