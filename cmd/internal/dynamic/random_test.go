package dynamic

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// maker makes at most left random values.
type maker struct {
	*rand.Rand
	left int
}

func (m *maker) count(most uint64) int {
	if m.left <= 0 {
		return 0
	}
	return m.IntN(int(min(most, 4)) + 1)
}

func (m *maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return b
}

// value makes a value of type t, or returns nil if it cannot, for example if a list contains
// itself without end.
func (m *maker) value(name string, index int, t *ir.Type) *Value {
	v := &Value{Name: name, Index: index, Type: t}
	if m.left--; m.left < -1000 {
		return nil
	}
	add := func(name string, index int, t *ir.Type) bool {
		c := m.value(name, index, t)
		v.Items = append(v.Items, c)
		return c != nil
	}
	u := t.Underlying()
	most := uint64(1 << 32)
	if u.Bounded {
		most = u.Max
	}
	repeat := func(n int, elem *ir.Type) bool {
		for i := range n {
			if !add("", i, elem) {
				return false
			}
		}
		return true
	}
	ok := true
	switch u.Kind {
	case ir.Bool:
		v.Word = uint64(m.IntN(2))
	case ir.Int:
		v.Word = uint64(int64(int32(m.Uint32())))
	case ir.Uint, ir.Float:
		v.Word = uint64(m.Uint32())
	case ir.Hyper, ir.Uhyper, ir.Double:
		v.Word = m.Uint64()
	case ir.Quad:
		v.Bytes = m.bytes(16)
	case ir.FixedOpaque:
		v.Bytes = m.bytes(int(u.Len))
	case ir.Opaque, ir.String:
		v.Bytes = m.bytes(m.count(most))
	case ir.FixedArray:
		ok = repeat(int(u.Len), u.Elem)
	case ir.Array:
		ok = repeat(m.count(most), u.Elem)
	case ir.Optional:
		ok = repeat(m.count(1), u.Elem)
		if len(v.Items) == 1 && v.Items[0] != nil {
			v.Items[0].Index = -1
		}
	case ir.ListOf:
		ok = repeat(m.count(most), &ir.Type{Kind: ir.Ref, Ref: u.Ref})
	case ir.ListHead:
		ok = repeat(m.count(most)+1, &ir.Type{Kind: ir.Ref, Ref: u.Ref})
	case ir.Ref:
		switch u.Ref.Kind {
		case ir.Enum:
			v.Member = u.Ref.Members[m.IntN(len(u.Ref.Members))]
			v.Word = uint64(int64(v.Member.Value))
		case ir.Union:
			ok = m.union(v, u.Ref, add)
		default:
			for _, f := range fieldsOf(u.Ref) {
				ok = ok && add(f.Name, -1, f.Type)
			}
		}
	}
	if !ok {
		return nil
	}
	return v
}

// union chooses an arm by a case, or the default by a random discriminant.
func (m *maker) union(v *Value, d *ir.Decl, add func(string, int, *ir.Type) bool) bool {
	if !add(d.Disc.Name, -1, d.Disc.Type) {
		return false
	}
	disc, x := v.Items[0], newIndex()
	a := d.Arms[m.IntN(len(d.Arms))]
	if len(a.Labels) > 0 {
		l := a.Labels[m.IntN(len(a.Labels))].Value
		n := uint32(l.Abs)
		if l.Neg {
			n = -n
		}
		disc.Word = uint64(n)
		if k := disc.Type.Underlying().Kind; k != ir.Uint && k != ir.Bool {
			disc.Word = uint64(int64(int32(n)))
		}
	}
	v.Arm = x.arm(d, disc)
	return v.Arm != nil && (v.Arm.Field == nil || add(v.Arm.Field.Name, -1, v.Arm.Field.Type))
}

// TestRandomValuesRoundTrip checks that random values round-trip, and that Decode reports a spoiled
// byte with its offset and the path of the item that contains it.
func TestRandomValuesRoundTrip(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	m := &maker{Rand: rand.New(rand.NewPCG(3, 4))}
	made, broken := 0, map[Code]int{}
	for _, typ := range allTypes(t) {
		for range rounds {
			m.left = 20
			v := m.value("", -1, typ)
			if v == nil {
				continue
			}
			data, err := Encode(v)
			if err != nil {
				t.Fatalf("%s: %v", typ.Spell(), err)
			}
			root, err := DecodeAll(data, typ, Limits{})
			if err != nil {
				t.Fatalf("%s %x: %v", typ.Spell(), data, err)
			}
			checkRoundTrip(t, root, data)
			made++
			if code, err := m.spoil(root, data); err != nil {
				t.Fatalf("%s: %v", typ.Spell(), err)
			} else if code != "" {
				broken[code]++
			}
		}
	}
	t.Logf("%d values, %v", made, broken)
	for _, c := range []Code{Bool, Padding, Enum, Bound} {
		if broken[c] < 100*rounds/1000 {
			t.Errorf("%s was broken only %d times", c, broken[c])
		}
	}
}

// spoil breaks one item of the data. It returns the expected code, and an error unless Decode
// finds the fault there.
func (m *maker) spoil(root *Value, data []byte) (Code, error) {
	var rows []Row
	for r := range Rows(root) {
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return "", nil
	}
	r := rows[m.IntN(len(rows))]
	u := r.Type.Underlying()
	code, at := Code(""), r.Offset
	switch d := enumOf(r.Type); {
	case r.Role == Present || r.Role == Absent || r.Role == End || r.Role == Data && u.Kind == ir.Bool:
		code = Bool
		binary.BigEndian.PutUint32(data[at:], 2+m.Uint32N(1<<30))
	case r.Role == Count && u.Bounded && u.Max < 1<<32-1:
		code = Bound
		binary.BigEndian.PutUint32(data[at:], uint32(u.Max)+1)
	case r.Role == Data && d != nil && !d.Open:
		n, x := m.Uint32(), newIndex()
		if x.member(d, int32(n)) != nil {
			return "", nil
		}
		code = Enum
		binary.BigEndian.PutUint32(data[at:], n)
	case r.Role == Data && len(r.Value.Bytes)%4 != 0:
		code, at = Padding, r.Offset+len(r.Value.Bytes)
		data[at] = 1
	default:
		return "", nil
	}
	_, err := DecodeAll(data, root.Type, Limits{})
	e, ok := err.(*Error)
	if !ok || e.Code != code || e.Offset != at || e.Path != r.Path {
		return code, fmt.Errorf("%x broken at %s, offset %d (%s): found %v", data, r.Path, at, code, err)
	}
	return code, nil
}
