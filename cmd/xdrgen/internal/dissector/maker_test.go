package dissector_test

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// maker makes the XDR of random values, of at most about left items.
type maker struct {
	*rand.Rand
	left    int
	numbers map[*ir.Decl]ir.Number     // of structs, whose numbers have code points
	codes   map[string][]*ir.CodePoint // by space
}

func (m *maker) count(most uint64) int {
	if m.left <= 0 {
		return 0
	}
	return m.IntN(int(min(most, 4)) + 1)
}

// text appends n bytes and padding. They are characters, which Wireshark shows as they are.
func (m *maker) text(b []byte, n int) []byte {
	for range n {
		b = append(b, "abcdefghij<&"[m.IntN(12)])
	}
	return append(b, make([]byte, -n&3)...)
}

func (m *maker) values(b []byte, t *ir.Type, n int) []byte {
	for range n {
		b = m.value(b, t)
	}
	return b
}

// value appends a value.
func (m *maker) value(b []byte, t *ir.Type) []byte {
	m.left--
	u := t.Underlying()
	most := uint64(1 << 32)
	if u.Bounded {
		most = u.Max
	}
	word := func(n int) int { b = binary.BigEndian.AppendUint32(b, uint32(n)); return n }
	switch u.Kind {
	case ir.Bool:
		word(m.IntN(2))
	case ir.Int, ir.Uint, ir.Float:
		word(int(m.Uint32()))
	case ir.Hyper, ir.Uhyper, ir.Double:
		b = binary.BigEndian.AppendUint64(b, m.Uint64())
	case ir.Quad:
		b = m.text(b, 16)
	case ir.FixedOpaque:
		b = m.text(b, int(u.Len))
	case ir.Opaque, ir.String:
		b = m.text(b, word(m.count(most)))
	case ir.FixedArray:
		b = m.values(b, u.Elem, int(u.Len))
	case ir.Array:
		b = m.values(b, u.Elem, word(m.count(most)))
	case ir.Optional:
		b = m.values(b, u.Elem, word(m.count(1)))
	case ir.ListOf, ir.ListHead:
		n := m.count(3)
		if u.Kind == ir.ListHead {
			b = m.fields(b, u.Ref.List.Elem)
		}
		for range n {
			word(1)
			b = m.fields(b, u.Ref.List.Elem)
		}
		word(0)
	case ir.Ref:
		switch u.Ref.Kind {
		case ir.Enum:
			word(int(u.Ref.Members[m.IntN(len(u.Ref.Members))].Value))
		case ir.Union:
			b = m.union(b, u.Ref)
		default:
			b = m.numbered(b, u.Ref)
		}
	}
	return b
}

func (m *maker) fields(b []byte, fields []*ir.Field) []byte {
	for _, f := range fields {
		b = m.value(b, f.Type)
	}
	return b
}

// numbered appends a struct. If it has the number of a code point, its data have that type.
func (m *maker) numbered(b []byte, d *ir.Decl) []byte {
	n, found := m.numbers[d]
	if !found || n.Data == "" {
		return m.fields(b, d.Fields)
	}
	p := m.codes[n.Space][m.IntN(len(m.codes[n.Space]))]
	for _, f := range d.Fields {
		switch f.Name {
		case n.Field:
			b = binary.BigEndian.AppendUint32(b, p.Value)
		case n.Data:
			data := m.code(nil, p)
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
		default:
			b = m.value(b, f.Type)
		}
	}
	return b
}

// code appends the value that a code point carries.
func (m *maker) code(b []byte, p *ir.CodePoint) []byte {
	if p.Decl == nil {
		return b
	}
	return m.value(b, &ir.Type{Kind: ir.Ref, Ref: p.Decl})
}

// union appends a union: the discriminant of one of the cases, or any that has an arm.
func (m *maker) union(b []byte, d *ir.Decl) []byte {
	a := d.Arms[m.IntN(len(d.Arms))]
	arms := ir.ArmsOf(d)
	if len(a.Labels) > 0 {
		b = binary.BigEndian.AppendUint32(b, a.Labels[m.IntN(len(a.Labels))].Word())
	} else {
		at := len(b)
		b = m.value(b, d.Disc.Type)
		n := int64(int32(binary.BigEndian.Uint32(b[at:])))
		if d.Disc.Type.Underlying().Kind == ir.Uint {
			n &= 1<<32 - 1
		}
		a = arms.At(n)
	}
	if a.Field == nil {
		return b
	}
	return m.value(b, a.Field.Type)
}
