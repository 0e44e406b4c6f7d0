package dynamic

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// templateBytes is the largest size of the fixed opaque data of a template.
const templateBytes = 64 << 10

// Template returns a value of type t to fill in: numbers are 0, opaque data and strings are empty,
// an enum is its first member. To show all fields, an array or a list has one element and
// optional data are present; only where a type contains itself, they are empty or absent. A union
// has the first arm that can be shown so. The value is valid for Encode.
func Template(t *ir.Type, l Limits) (*Value, error) {
	b := templateBuilder{index: newIndex(), limits: l, open: map[*ir.Decl]bool{}}
	root := &Value{Index: -1, Type: t}
	ok := b.value(root)
	switch {
	case b.err != nil:
		return nil, b.err
	case !ok:
		return nil, fmt.Errorf("every value of %s contains another one", t.Spell())
	}
	return root, nil
}

// templateBuilder is the state of one Template.
type templateBuilder struct {
	index
	limits Limits
	values int
	size   uint64            // of fixed opaque data
	open   map[*ir.Decl]bool // structs and unions that contain the current value
	err    error             // a limit was reached
}

// value sets v. It returns false if v cannot be set without a type that contains itself.
func (b *templateBuilder) value(v *Value) bool {
	if b.values++; b.values > b.limits.values() {
		b.err = fmt.Errorf("a template would have more than %d values", b.limits.values())
	}
	if b.err != nil {
		return false
	}
	t := v.Type.Underlying()
	switch t.Kind {
	case ir.Quad:
		return b.fixed(v, 16)
	case ir.FixedOpaque:
		return b.fixed(v, t.Len)
	case ir.FixedArray:
		for i := range t.Len {
			if !b.child(v, "", int(i), t.Elem) {
				return false
			}
		}
		return true
	case ir.Array:
		if !t.Bounded || t.Max > 0 {
			b.optional(v, "", 0, t.Elem)
		}
		return b.err == nil
	case ir.Optional:
		b.optional(v, "", -1, t.Elem)
		return b.err == nil
	case ir.ListOf:
		b.optional(v, "", 0, b.node(t.Ref))
		return b.err == nil
	case ir.ListHead:
		return b.child(v, "", 0, b.node(t.Ref))
	case ir.Ref:
		return b.declared(v, t.Ref)
	}
	return true
}

func (b *templateBuilder) fixed(v *Value, n uint64) bool {
	if b.size += n; b.size > templateBytes {
		b.err = fmt.Errorf("a template would have more than %d bytes of opaque data of fixed length", templateBytes)
		return false
	}
	v.Bytes = make([]byte, n)
	return true
}

// child appends an item to v, or returns false.
func (b *templateBuilder) child(v *Value, name string, index int, t *ir.Type) bool {
	c := &Value{Name: name, Index: index, Type: t}
	v.Items = append(v.Items, c)
	return b.value(c)
}

// optional appends an item to v if that is possible.
func (b *templateBuilder) optional(v *Value, name string, index int, t *ir.Type) {
	if !b.child(v, name, index, t) {
		v.Items = nil
	}
}

// declared sets v, whose type is an enum, a struct or a union.
func (b *templateBuilder) declared(v *Value, d *ir.Decl) bool {
	if d.Kind == ir.Enum {
		if len(d.Members) > 0 {
			b.number(v, int64(d.Members[0].Value))
		}
		return true
	}
	if b.open[d] {
		return false
	}
	b.open[d] = true
	defer delete(b.open, d)
	if d.Kind == ir.Union {
		return b.union(v, d)
	}
	for _, f := range fieldsOf(d) {
		if !b.child(v, f.Name, -1, f.Type) {
			return false
		}
	}
	return true
}

// union sets v to the first arm that is possible.
func (b *templateBuilder) union(v *Value, d *ir.Decl) bool {
	arms := ir.ArmsOf(d)
	for _, a := range d.Arms {
		n, ok := otherValue(d, arms)
		if len(a.Labels) > 0 {
			n, ok = a.Labels[0].Value.Int64(), true
		}
		if !ok {
			continue
		}
		disc := &Value{Name: d.Disc.Name, Index: -1, Type: d.Disc.Type}
		b.number(disc, n)
		v.Arm, v.Items = a, []*Value{disc}
		if a.Field == nil || b.child(v, a.Field.Name, -1, a.Field.Type) {
			return true
		}
		if b.err != nil {
			break
		}
	}
	return false
}

// number sets v to a number, or to the enum member that has it.
func (b *templateBuilder) number(v *Value, n int64) {
	v.Word = uint64(n)
	if d := enumOf(v.Type); d != nil {
		v.Member = b.member(d, int32(n))
	}
}

// otherValue returns a discriminant for which a union has no case.
func otherValue(d *ir.Decl, arms ir.Arms) (int64, bool) {
	if e := enumOf(d.Disc.Type); e != nil {
		for _, m := range e.Members {
			if arms.Own[int64(m.Value)] == nil {
				return int64(m.Value), true
			}
		}
		return 0, false
	}
	most := int64(len(arms.Own))
	if d.Disc.Type.Underlying().Kind == ir.Bool {
		most = 1
	}
	for n := range most + 1 {
		if arms.Own[n] == nil {
			return n, true
		}
	}
	return 0, false
}
