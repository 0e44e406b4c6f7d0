package gosample

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// Sampler makes valid encodings of random values from the ir alone, so that the generated tests do
// not depend on the code under test. For this reason it does not use the plan.
//
// The encodings of types that hold each other twice, at each of many levels, could have any length.
// Beyond Large bytes, values are as small as their types allow.
type Sampler struct {
	Rand *rand.Rand
	C    bool // for C: strings are letters, numbers fit a char
	Deep int  // how many levels of optional, list, array and recursive arm may still open
}

// Large is the length that random encodings are kept near.
const Large = 1 << 14

func (w *Sampler) typ(b []byte, t *ir.Type) []byte {
	switch t.Kind {
	case ir.Bool:
		return word(b, uint32(w.Rand.IntN(2)))
	case ir.Int, ir.Uint, ir.Float:
		if w.C {
			return word(b, uint32(w.Rand.IntN(128)))
		}
		return word(b, w.Rand.Uint32())
	case ir.Hyper, ir.Uhyper, ir.Double:
		return binary.BigEndian.AppendUint64(b, w.Rand.Uint64())
	case ir.Quad:
		return w.bytes(b, 16)
	case ir.FixedOpaque:
		return w.bytes(b, int(t.Len))
	case ir.Opaque, ir.String:
		n := w.count(b, t, 40)
		b = w.bytes(word(b, uint32(n)), n)
		if w.C && t.Kind == ir.String {
			for i := range n {
				b[len(b)-(n+3)&^3+i] = 'a' + byte(w.Rand.IntN(26))
			}
		}
		return b
	case ir.FixedArray:
		for range t.Len {
			b = w.typ(b, t.Elem)
		}
		return b
	case ir.Array:
		n := w.count(b, t, 4)
		b = word(b, uint32(n))
		return w.nested(b, n, func(b []byte) []byte { return w.typ(b, t.Elem) })
	case ir.Optional:
		n := w.count(b, t, 1)
		return w.nested(word(b, uint32(n)), n, func(b []byte) []byte { return w.typ(b, t.Elem) })
	case ir.ListOf:
		n := w.count(b, t, 4)
		b = w.nested(b, n, func(b []byte) []byte { return w.fields(word(b, 1), t.Ref.List.Elem) })
		return word(b, 0)
	case ir.ListHead:
		b = w.fields(b, t.Ref.List.Elem)
		n := w.count(b, t, 3)
		b = w.nested(b, n, func(b []byte) []byte { return w.fields(word(b, 1), t.Ref.List.Elem) })
		return word(b, 0)
	}
	return w.Append(b, t.Ref)
}

// nested makes n items one level deeper.
func (w *Sampler) nested(b []byte, n int, item func([]byte) []byte) []byte {
	w.Deep--
	for range n {
		b = item(b)
	}
	w.Deep++
	return b
}

func (w *Sampler) count(b []byte, t *ir.Type, most int) int {
	if w.Deep <= 0 || len(b) > Large || elemMin(t) > Large {
		return 0
	}
	if t.Bounded && t.Max < uint64(most) {
		most = int(t.Max)
	}
	return w.Rand.IntN(most + 1)
}

// elemMin returns the smallest size of t's elements.
func elemMin(t *ir.Type) uint64 {
	switch {
	case t.Elem != nil:
		return t.Elem.Size.Min
	case t.Kind == ir.ListOf || t.Kind == ir.ListHead:
		return plan.Size(t.Ref).Min
	}
	return 0
}

func (w *Sampler) bytes(b []byte, n int) []byte {
	for range n {
		b = append(b, byte(w.Rand.Uint32()))
	}
	for range -n & 3 {
		b = append(b, 0)
	}
	return b
}

func (w *Sampler) fields(b []byte, fs []*ir.Field) []byte {
	for _, f := range fs {
		b = w.typ(b, f.Type)
	}
	return b
}

// Append makes a value of a named type; of a list node, of one element.
func (w *Sampler) Append(b []byte, d *ir.Decl) []byte {
	switch d.Kind {
	case ir.Enum:
		return word(b, uint32(d.Members[w.Rand.IntN(len(d.Members))].Value))
	case ir.Typedef:
		return w.typ(b, d.Type)
	case ir.Struct:
		return w.fields(b, plan.Fields(d))
	}
	a := d.Arms[w.Rand.IntN(len(d.Arms))]
	rest, ok := unlabelled(d)
	for len(a.Labels) == 0 && !ok { // a default arm that nothing selects
		a = d.Arms[w.Rand.IntN(len(d.Arms))]
	}
	inner := a.Field != nil && holdsRecursive(a.Field.Type)
	if armMin(a) > Large || len(b) > Large || inner && w.Deep <= 0 {
		for _, other := range d.Arms {
			if armMin(other) < armMin(a) && (len(other.Labels) > 0 || ok) {
				a = other
			}
		}
	}
	if len(a.Labels) > 0 {
		rest = a.Labels[w.Rand.IntN(len(a.Labels))].Word()
	}
	b = word(b, rest)
	if a.Field == nil {
		return b
	}
	levels := 0
	if inner {
		levels = 1
	}
	w.Deep -= levels
	b = w.typ(b, a.Field.Type)
	w.Deep += levels
	return b
}

// armMin returns the smallest size of arm a.
func armMin(a *ir.Arm) uint64 {
	if a.Field == nil {
		return 0
	}
	return a.Field.Type.Size.Min
}

// unlabelled is a discriminant that selects the default arm, if there is one.
func unlabelled(d *ir.Decl) (uint32, bool) {
	used := map[uint32]bool{}
	for _, a := range d.Arms {
		for _, l := range a.Labels {
			used[l.Word()] = true
		}
	}
	u := d.Disc.Type.Underlying()
	switch {
	case u.Kind == ir.Bool:
		return firstUnused(used, 2)
	case u.Kind == ir.Ref && !u.Ref.Open:
		for _, m := range u.Ref.Members {
			if !used[uint32(m.Value)] {
				return uint32(m.Value), true
			}
		}
		return 0, false
	}
	return firstUnused(used, 1<<31)
}

// firstUnused is the first number below n that is not used.
func firstUnused(used map[uint32]bool, n uint32) (uint32, bool) {
	for i := range n {
		if !used[i] {
			return i, true
		}
	}
	return 0, false
}

func word(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }

// holdsRecursive reports whether a value of type t has one in it of a type that contains itself.
func holdsRecursive(t *ir.Type) bool {
	u := t.Underlying()
	for u.Kind == ir.FixedArray {
		u = u.Elem.Underlying()
	}
	return u.Kind == ir.Ref && u.Ref.Recursive
}
