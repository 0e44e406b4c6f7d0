package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// WithoutUnbounded returns the most bytes that a value of type t takes on the wire if its unbounded
// data, arrays and lists are empty. It saturates at 2^31-1.
func WithoutUnbounded(t *ir.Type) uint64 {
	m := &measure{done: map[*ir.Decl]uint64{}}
	return m.typ(t)
}

const mostRest = 1<<31 - 1

// measure computes sizes. A declaration that is being measured counts as nothing, because a value
// that contains itself can stop there.
type measure struct{ done map[*ir.Decl]uint64 }

func (m *measure) typ(t *ir.Type) uint64 {
	if t == nil {
		return 0
	}
	switch t.Kind {
	case ir.Ref:
		return m.decl(t.Ref)
	case ir.Optional:
		return min(mostRest, 4+m.typ(t.Elem))
	case ir.ListOf, ir.ListHead:
		return 4
	case ir.FixedArray:
		return times(t.Len, m.typ(t.Elem))
	case ir.Opaque, ir.String:
		if t.Bounded {
			return min(mostRest, 4+(t.Max+3)/4*4)
		}
		return 4
	case ir.Array:
		if t.Bounded {
			return min(mostRest, 4+times(t.Max, m.typ(t.Elem)))
		}
		return 4
	}
	return min(mostRest, t.Size.Max)
}

// times returns n times each, saturated.
func times(n, each uint64) uint64 {
	if each > 0 && n > mostRest/each {
		return mostRest
	}
	return n * each
}

func (m *measure) decl(d *ir.Decl) uint64 {
	if n, ok := m.done[d]; ok {
		return n
	}
	m.done[d] = 0
	n := uint64(0)
	switch d.Kind {
	case ir.Typedef:
		n = m.typ(d.Type)
	case ir.Struct:
		for _, f := range d.Fields {
			n += m.typ(f.Type)
		}
	case ir.Union:
		for _, a := range d.Arms {
			if a.Field != nil {
				n = max(n, m.typ(a.Field.Type))
			}
		}
		n += 4
	default:
		n = 4
	}
	m.done[d] = min(mostRest, n)
	return m.done[d]
}
