package codectest

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// This file checks the optional methods Clone and Equal of types that have them.

// clones clones values that have held all wires, and whose unselected arms and spare capacity still
// hold memory of others. The clone has the same encoding, and shares no memory.
func clones(t *Type, wires [][]byte) error {
	if t.Clone == nil {
		return nil
	}
	v := t.New()
	for _, w := range wires {
		if err := v.UnmarshalBinary(w); err != nil {
			return err
		}
		c, err := t.Clone(v)
		if err != nil {
			return fmt.Errorf("%x: Clone: %w", w, err)
		}
		if err := same(c, w); err != nil {
			return fmt.Errorf("%x: the clone: %w", w, err)
		}
		if p := shared(reflect.ValueOf(v), reflect.ValueOf(c)); p != "" {
			return fmt.Errorf("%x: the clone shares memory with the value: %s", w, p)
		}
		fill(reflect.ValueOf(c).Elem())
		if err := same(v, w); err != nil {
			return fmt.Errorf("%x: the value, after all of its clone is overwritten: %w", w, err)
		}
	}
	return nil
}

// block is memory that a value holds.
type block struct {
	from, to uintptr
	what     string
}

// shared describes memory that both values hold, or returns "".
func shared(v, w reflect.Value) string {
	var all []block
	collect := func(x reflect.Value, owner string) {
		blocks(x, func(p, size uintptr, typ reflect.Type) {
			all = append(all, block{p, p + size, owner + "'s " + typ.String()})
		})
	}
	collect(v, "one")
	first := len(all)
	collect(w, "the other")
	for _, b := range all[first:] {
		if i := slices.IndexFunc(all[:first], func(a block) bool { return a.from < b.to && b.from < a.to }); i >= 0 {
			return all[i].what + " and " + b.what
		}
	}
	return ""
}

// blocks calls found for each block of memory that v holds, spare capacity included.
func blocks(v reflect.Value, found func(p, size uintptr, typ reflect.Type)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			found(v.Pointer(), v.Type().Elem().Size(), v.Type())
			blocks(v.Elem(), found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			blocks(v.Field(i), found)
		}
	case reflect.Slice:
		found(v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size(), v.Type())
		v = v.Slice3(0, v.Cap(), v.Cap())
		for i := range v.Len() {
			blocks(v.Index(i), found)
		}
	case reflect.Array:
		for i := range v.Len() {
			blocks(v.Index(i), found)
		}
	}
}

// fill overwrites all memory of v.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(^v.Uint() >> (64 - v.Type().Bits()))
	case reflect.Int32, reflect.Int64:
		v.SetInt(^v.Int())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(v.Float() + 1)
	}
}

// equals holds Equal against the encodings of each value and of others: from the other wires, from
// wires with a changed word, and from the value with each part overwritten in memory.
func equals(t *Type, wires [][]byte) error {
	if t.Equal == nil {
		return nil
	}
	others, err := variants(t, wires)
	if err != nil {
		return err
	}
	v := t.New()
	for _, w := range wires { // v keeps unselected arms and capacity
		if err := v.UnmarshalBinary(w); err != nil {
			return err
		}
		for _, o := range others {
			if err := sameEqual(t, v, o); err != nil {
				return err
			}
		}
		if n := testing.AllocsPerRun(10, func() { t.Equal(v, v) }); n > 0 && !race {
			return fmt.Errorf("%x: Equal makes %v allocations", w, n)
		}
		left := most()
		if err := overwrite(reflect.ValueOf(v).Elem(), &left, func() error { return sameEqual(t, v, v) }); err != nil {
			return fmt.Errorf("%x, a part overwritten: %w", w, err)
		}
	}
	return nil
}

// variants returns the values of the wires, and of the wires with a word changed.
func variants(t *Type, wires [][]byte) (out []Value, err error) {
	for _, w := range wires {
		v := t.New()
		if err := v.UnmarshalBinary(w); err != nil {
			return nil, err
		}
		out = append(out, v)
		for off := 0; off+4 <= len(w); off += 4 * (1 + len(w)/most()) { // a quarter of the places
			in := bytes.Clone(w)
			in[off+3] ^= 1
			if m := t.New(); m.UnmarshalBinary(in) == nil {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// sameEqual compares Equal with the encodings.
func sameEqual(t *Type, v, w Value) error {
	a, errA := v.MarshalBinary()
	b, errB := w.MarshalBinary()
	want := errA == nil && errB == nil && bytes.Equal(a, b)
	if t.Equal(v, w) != want || t.Equal(w, v) != want {
		return fmt.Errorf("method Equal is not %v for values with the encodings %x (%v) and %x (%v)", want, a, errA, b, errB)
	}
	return nil
}

// overwrite sets each part of v to other values, most of which cannot be encoded, one after the
// other, and calls check for each. It changes at most left parts.
func overwrite(v reflect.Value, left *int, check func() error) error {
	if *left <= 0 {
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if err := overwrite(v.Field(i), left, check); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		if v.Len() == 0 {
			return nil
		}
		return overwrite(v.Index(0), left, check)
	}
	*left--
	old := reflect.ValueOf(v.Interface())
	defer v.Set(old)
	for _, other := range replacements(v) {
		v.Set(other)
		if err := check(); err != nil {
			return fmt.Errorf("%v: %w", other, err)
		}
	}
	v.Set(old)
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return overwrite(v.Elem(), left, check)
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return overwrite(v.Index(v.Len()-1), left, check)
	}
	return nil
}

// replacements returns other values of v's type.
func replacements(v reflect.Value) []reflect.Value {
	var out []reflect.Value
	number := func(x any) { out = append(out, reflect.ValueOf(x).Convert(v.Type())) }
	switch v.Kind() {
	case reflect.Slice:
		longer := reflect.MakeSlice(v.Type(), v.Len()+300, v.Len()+300) // over most bounds
		reflect.Copy(longer, v)
		out = append(out, longer, reflect.Zero(v.Type()), reflect.MakeSlice(v.Type(), 0, 4))
	case reflect.Pointer:
		out = append(out, reflect.Zero(v.Type()))
	case reflect.Bool:
		number(!v.Bool())
	case reflect.Float32, reflect.Float64:
		number(math.NaN())
		number(math.Copysign(0, -1))
	default:
		for _, x := range []int32{0, 1, 2, -1, 99999} {
			number(x)
		}
	}
	return out
}
