package plan

import (
	"math"
	"slices"
)

// bare returns how many bytes on the wire each value of t has at least outside of lists that cannot
// be empty and of arms that are held by pointer. These bytes hold no memory. Such a list or arm
// holds some, which its own bytes pay for.
func (p *Plan) bare(t *Type) int {
	if n, ok := p.bares[t]; ok {
		return n
	}
	return int(t.Size.Min)
}

// findBares computes bare for the types that have less than their smallest size. It goes through
// the types in rounds, forward and backward in turn, until none changes.
func (m *maker) findBares() {
	types := slices.Clone(m.all)
	for changed := true; changed; slices.Reverse(types) {
		changed = false
		for _, t := range types {
			if n := m.countBare(t); n < m.bare(t) {
				m.bares[t], changed = n, true
			}
		}
	}
}

// countBare computes bare for t from the results for its parts so far.
func (p *Plan) countBare(t *Type) int {
	switch t.Op {
	case Typedef:
		return p.bareStep(t.Body)
	case Struct:
		n := 0
		for _, f := range t.Fields {
			n += p.bareStep(f.Step)
		}
		return n
	case Union:
		least := math.MaxInt32
		for _, arm := range t.Arms {
			size := 0
			if arm.Field != nil && !arm.Pointer {
				size = p.bareStep(arm.Field.Step)
			}
			least = min(least, size)
		}
		return 4 + least
	}
	return int(t.Size.Min)
}

// bareStep is bare for the values of a step.
func (p *Plan) bareStep(s *Step) int {
	switch s.Op {
	case List:
		if s.Head {
			return 0
		}
	case Loop:
		return s.Len * p.bareStep(s.Elem)
	case Struct, Union, Typedef:
		return p.bare(s.Of)
	}
	return s.Min()
}
