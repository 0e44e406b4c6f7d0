package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// mem is the size and alignment of a Go type on a 64-bit machine. Memory budgets are charged by
// it.
type mem struct{ size, align int }

func (m *mem) add(f mem) {
	if f.align == 0 {
		return
	}
	m.size = (m.size + f.align - 1) / f.align * f.align
	m.size += f.size
	m.align = max(m.align, f.align)
}

func (m mem) padded() mem {
	if m.align > 0 {
		m.size = (m.size + m.align - 1) / m.align * m.align
	}
	return m
}

var (
	sliceMem   = mem{24, 8}
	pointerMem = mem{8, 8}
)

// Memory returns the size of a Go value that has type t, without the memory that it points to. For
// a linked list, it is the size of an element.
func (p *Plan) Memory(t *ir.Type) int {
	m := &maker{Plan: p}
	s := m.step(t, nil)
	m.connect()
	if s.Op == List {
		s = s.Elem
	}
	return s.Memory()
}

// Memory returns the size of a Go value for s, without the memory that it points to.
func (s *Step) Memory() int { return s.mem().size }

func (s *Step) mem() mem {
	switch s.Op {
	case Bool:
		return mem{1, 1}
	case Word, Enum:
		return mem{4, 4}
	case Hyper:
		return mem{8, 8}
	case Bytes:
		return mem{s.Len, 1}
	case Struct, Union:
		return s.Of.mem()
	case Opaque, Array, List:
		return sliceMem
	}
	size := s.facts.memory.get(0, func() int {
		m := s.partMem()
		s.facts.align = m.align
		return m.size
	})
	return mem{size, s.facts.align}
}

// partMem computes the memory of a loop, a typedef, or optional data.
func (s *Step) partMem() mem {
	switch {
	case s.Op == Loop:
		e := s.Elem.mem()
		return mem{e.size * s.Len, e.align}
	case s.Op == Typedef:
		return s.Under().mem()
	case s.Pointer:
		return pointerMem
	}
	m := s.Elem.mem()
	m.add(mem{1, 1})
	return m.padded()
}

// mem is the memory of a struct or union. For a list node, it is the memory of an element.
func (t *Type) mem() mem {
	size := t.facts.memory.get(0, func() int {
		var m mem
		for _, f := range t.Fields {
			m.add(f.Step.mem())
		}
		if t.Op == Union {
			m.add(t.Disc.Step.mem())
			t.layArms(&m)
		}
		m = m.padded()
		t.facts.align = m.align
		return m.size
	})
	return mem{size, t.facts.align}
}

// inlineArms is the memory up to which the arms of a union that may occur many times in a message
// lie in the union itself, all together (ADR 0002).
const inlineArms = 128

// layArms decides for the arms of union t whether they are held by pointer, and adds their memory
// to m. A union that a message holds once has its arms inline. One that may occur many times has
// only the first ones that fit inlineArms inline, so that a short item on the wire never costs much
// memory (D2).
//
// Optional data of a type that contains itself is a pointer in Go, and needs no other one. An arm
// that may hold the union again is always a pointer, because a Go type cannot hold itself.
// RFC 4506 §4.19 allows such a union if another arm stops the recursion.
func (t *Type) layArms(m *mem) {
	used := 0
	for _, a := range t.Arms {
		if a.Field == nil {
			continue
		}
		a.Pointer = a.Field.Step.holdsRecursive()
		if !a.Pointer {
			f := a.Field.Step.mem()
			if a.Pointer = t.Repeated && used+f.size > inlineArms && !a.Field.Step.Under().Pointer; !a.Pointer {
				used += f.size
				m.add(f)
				continue
			}
		}
		m.add(pointerMem)
	}
}
